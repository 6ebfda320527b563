"""Broken kernels that can be watched: what is known of mistakes, run again, each beside ours."""

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from lessons.course.exercises import solution_text
from lessons.course.lesson import Lesson
from lessons.course.mistakes import Entry, entries_of_kind, file_of
from lessons.grading.explain.evidence import picture_path
from lessons.grading.judge.result import Attempt, CheckEnded, WrongNumbers
from lessons.grading.judge.run import PATIENCE, checks_of
from lessons.grading.judge.runs import Engines, Runs, replay_of
from lessons.grading.judge.verdict import Verdict
from lessons.grading.judge.worker_pool import WorkerPool
from lessons.grading.walls.submission import Submission
from lessons.lab.simulator.replay.page import replay_page

SEED = 20260
PER_LESSON, MOST_TRIES = 3, 24
MOST_BYTES = 400_000  # of a replay
# What is best to watch comes first; "" is a wrong result.
KINDS = "race", "barrier", "out-of-bounds", "uninitialised", "unsynchronised", ""
NOT_SAID = "picture: ", "replay: ", "printed: ", "stuck? "


class Shown(NamedTuple):
    """A broken kernel of the gallery. said: the lines of the check. page: its name, no suffix."""

    lesson: Lesson
    entry: Entry
    kernel: str
    kind: str
    said: str
    page: str


class Enough(Exception):
    """The run that was asked for is done."""


class CountedRuns(Runs):
    """Runs of a check that are counted, and end with the one of this number."""

    number, last_number = 0, 0

    def run(self, *arguments: Any, **options: Any) -> Any:
        self.number += 1
        counts = super().run(*arguments, **options)
        if self.number == self.last_number:
            raise Enough
        return counts


def write(folder: Path, chosen: Sequence[Lesson]) -> list[Shown]:
    """Write two replays of each kernel into `folder`/replays; the pages are made by `pages`."""
    (folder / "replays").mkdir(parents=True)
    found: list[Shown] = []
    with WorkerPool(trusted=True) as workers:
        for lesson in chosen:
            functions = checks_of(lesson)
            tries = islice(candidates(lesson), MOST_TRIES)
            shown = (watched(folder, lesson, one, functions[one.check], workers) for one in tries)
            found += islice(filter(None, shown), PER_LESSON)
    return found


def candidates(lesson: Lesson) -> Iterator[Entry]:
    """A lesson's mistakes: one of each kind, then a second of each, and so on."""
    # A missing barrier is what is best to see.
    wrong = sorted(entries_of_kind(lesson, "wrong"), key=lambda one: "barrier" not in one.name)
    words = list(dict.fromkeys(entry.words for entry in wrong))
    words.sort(key=lambda one: KINDS.index(one) if one in KINDS else len(KINDS))
    rounds = zip_longest(*([entry for entry in wrong if entry.words == one] for one in words))
    yield from (entry for one in rounds for entry in one if entry)


def watched(
    folder: Path, lesson: Lesson, entry: Entry, function: Callable, workers: WorkerPool
) -> Shown | None:
    """Run a mistake, and ours up to the same launch; None if one of them cannot be replayed."""
    broken, ended, last = replayed(lesson, entry, file_of(lesson, entry), function, workers)
    if ended is None or not 0 < len(broken) <= MOST_BYTES:
        return None
    ours = solution_text(lesson)
    mended, trouble, _ = replayed(lesson, entry, ours, function, workers, last)
    kernel = title_of(broken)
    if trouble or title_of(mended) != kernel or len(mended) > MOST_BYTES:
        return None
    page = f"{lesson.name}-{entry.name}"
    for which, text in (("broken", broken), ("mended", mended)):
        (folder / "replays" / f"{page}-{which}.html").write_text(text, encoding="utf-8")
    said = [line for line in str(ended).splitlines() if not line.startswith(NOT_SAID)]
    kind = "wrong result" if ended.diagnosis == entry.code else ended.diagnosis
    return Shown(lesson, entry, kernel, kind, "\n".join(said), page)


def replayed(
    lesson: Lesson, entry: Entry, text: str, function: Callable, workers: WorkerPool, last: int = 0
) -> tuple[str, CheckEnded | None, int]:
    """(the page of the last run, how the check of an entry ended, the number of that run).

    text: of the file. last: the number of the run after which it is enough.
    """
    check = lesson.check(entry.check)
    ended: CheckEnded | None = None
    with TemporaryDirectory() as pictures:
        submission = Submission(lesson.exercise, text.encode())
        attempt = Attempt(lesson, check, submission, SEED, Path(pictures))
        workers.ready()
        engines = Engines(time.monotonic() + check.timeout * PATIENCE)
        runs = CountedRuns(attempt, workers, engines)
        runs.last_number = last
        try:
            function(Verdict(attempt, runs))
        except Enough:
            pass
        except WrongNumbers as wrong:
            ended = wrong = wrong.renamed(entry.code, entry.sentence)
            wrong.message()  # writes the replay
        except CheckEnded as found:
            ended = found
        written = picture_path(Path(pictures), lesson, check).with_suffix(".html")
        if written.exists():
            return written.read_text(encoding="utf-8"), ended, runs.number
    data = replay_of(runs.last.recorded_by)
    return replay_page(data) if data else "", ended, runs.number


def title_of(replay: str) -> str:
    return replay.partition("<title>Replay of ")[2].partition("</title>")[0]
