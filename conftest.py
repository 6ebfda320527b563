"""For pytest: loaded before any other file beneath this folder, and so before a submission's."""

from lessons.grading.walls.planted import refuse_planted_files

refuse_planted_files()
