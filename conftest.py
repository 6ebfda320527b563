"""For pytest: loaded before any other file beneath this folder, and so before a submission's."""

import kernels.plumbing.supported_python  # noqa: F401  says what to type if packages are missing
from lessons.grading.walls.planted import refuse_planted_files

refuse_planted_files()
