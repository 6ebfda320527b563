"""Grade lessons with pytest: `pytest lessons/04_encode`, or `pytest lessons` for all of them.

The options and the grade report are described in lessons/GRADING.md; how a check is run, in
`lessons.grading.judge.run`.
"""

import secrets
from collections.abc import Sequence
from pathlib import Path

import pytest

from kernels.files.atomic import unwritable
from kernels.plumbing.errors import InputError
from lessons.course.lesson import Lesson, lessons
from lessons.grading.judge.result import Result
from lessons.grading.judge.run import run_check
from lessons.grading.judge.worker_pool import WorkerPool
from lessons.grading.report import all_results, write_report
from lessons.grading.walls.fingerprint import remarks_on
from lessons.grading.walls.planted import refuse_planted_files
from lessons.grading.walls.submission import Submission

refuse_planted_files()

RESULTS = pytest.StashKey[list[Result]]()
WORKERS = pytest.StashKey[WorkerPool]()
SEED = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("lessons")
    group.addoption("--report", metavar="FILE", help="write the grades to this JSON file")
    group.addoption(
        "--seed", type=int, metavar="N",
        help="what random inputs follow from, 0 or more; repeats a run (default: a new one)",
    )  # fmt: skip
    group.addoption(
        "--exercise", metavar="FILE",
        help="grade this file, for a single lesson (default: exercise.py of each lesson)",
    )  # fmt: skip
    group.addoption(
        "--submission", metavar="FOLDER",
        help="grade the files of this folder: 04_encode.py or 04_encode/exercise.py, and so on",
    )  # fmt: skip
    group.addoption(
        "--patience", type=float, default=1.0, metavar="FACTOR",
        help="multiply all time limits, for a slow or busy machine (default: 1)",
    )  # fmt: skip
    try:
        group.addoption(
            "--require-gpu", action="store_true", help="stop at once if there is no usable GPU"
        )
    except ValueError:
        pass  # the project's own tests, in the same run, have added it


def pytest_configure(config: pytest.Config) -> None:
    refuse_side_by_side(config)
    seed = config.getoption("--seed")
    config.stash[SEED] = secrets.randbits(32) if seed is None else seed
    config.stash[RESULTS] = []
    config.stash[WORKERS] = WorkerPool()
    if config.stash[SEED] < 0:
        raise pytest.UsageError(f"--seed must not be negative, but it is {seed}")
    if not 0 < config.getoption("--patience") <= 1000:
        raise pytest.UsageError("--patience must be above 0 and at most 1000")
    for option in ("--report", "--exercise", "--submission"):
        if config.getoption(option) == "":  # in a script, a variable that was never set
            raise pytest.UsageError(f"{option}: it is empty")
    for option in ("--exercise", "--submission"):
        path = config.getoption(option)
        if path and not Path(path).exists():
            raise pytest.UsageError(f"{option}: there is no {path}")


def refuse_side_by_side(config: pytest.Config) -> None:
    """Refuse pytest-xdist: it would run the checks where no report and no points come from."""
    if getattr(config.option, "numprocesses", None) or hasattr(config, "workerinput"):
        raise pytest.UsageError(
            "pytest lessons grades in one process: leave out -n (pytest-xdist), or write -n 0; "
            "python -m lessons grade SUBMISSIONS --jobs N grades many submissions side by side"
        )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse what cannot be graded, before anything is."""
    try:
        chosen = selected(config)
    except InputError as error:
        raise pytest.UsageError(str(error)) from None
    if config.getoption("--exercise") and len(chosen) > 1:
        raise pytest.UsageError("--exercise is one file: name the lesson, as in lessons/04_encode")
    if config.getoption("--require-gpu") and any(map(name_of_check, items)):
        obstacle, _ = config.stash[WORKERS].describe()
        if obstacle:
            raise pytest.UsageError(f"--require-gpu: {obstacle}")


@pytest.fixture
def case() -> None:
    """What a check works with. `run_check` makes the real one, once for each engine."""


def name_of_check(item: pytest.Item) -> str | None:
    """The name that `@check` has given to a test; None for an ordinary test."""
    return getattr(getattr(item, "obj", None), "check_name", None)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a check through `run_check` instead of calling it."""
    name = name_of_check(pyfuncitem)
    if name is None:
        return None
    config = pyfuncitem.config
    lesson = lesson_of(pyfuncitem.path)
    results = config.stash[RESULTS]
    result = run_check(
        pyfuncitem.obj,
        lesson,
        lesson.check(name),
        Submission.read(submitted_file(config, lesson)),
        config.stash[WORKERS],
        config.stash[SEED],
        patience=config.getoption("--patience"),
        draw=not config.getoption("--submission"),
        before=results,
    )
    results.append(result)
    if result.status == "skipped":
        pytest.skip(result.message)
    if result.status != "passed":
        pytest.fail(result.message, pytrace=False)
    return True


def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    config.stash[WORKERS].stop()
    path = config.getoption("--report")
    if not path:
        return
    chosen = selected(config)
    files: list[Path] = []
    for lesson in chosen:
        files += [submitted_file(config, lesson), lesson.folder / "lesson.toml"]
        files += lesson.folder.glob("test_*.py")
    try:
        write_report(
            Path(path), rows_of(config), config.stash[SEED], files, unusual_code_of(config)
        )
    except InputError as error:
        raise pytest.UsageError(f"--report: {error}") from None
    except OSError as error:
        raise pytest.UsageError(f"--report: {unwritable(path, error)}") from None


def pytest_terminal_summary(
    # Quoted: older versions of pytest do not export it.
    terminalreporter: "pytest.TerminalReporter",
    config: pytest.Config,
) -> None:
    rows = rows_of(config)
    if not rows:
        return
    terminalreporter.section("points")
    for line in summary_lines(rows):
        terminalreporter.write_line(line)
    for lesson, lines in unusual_code_of(config).items():
        for line in lines:
            terminalreporter.write_line(f"look at {lesson}, {line}")
    terminalreporter.write_line(f"(repeat exactly with --seed {config.stash[SEED]})")


# ---------------------------------------------------------------- which lessons, which files


def rows_of(config: pytest.Config) -> list[Result]:
    def reason(lesson: str, check: str) -> tuple[str, str]:
        return "error", "this check was not run: it was left out, or the run ended before it"

    return all_results(selected(config), config.stash[RESULTS], reason)


def unusual_code_of(config: pytest.Config) -> dict[str, list[str]]:
    """lesson -> lines about its file that a person should read; only lessons with such lines."""
    found = {}
    for lesson in selected(config):
        text = Submission.read(submitted_file(config, lesson)).text or b""
        lines = remarks_on(text.decode("utf-8", "replace"), lesson)
        if lines:
            found[lesson.name] = lines
    return found


def selected(config: pytest.Config) -> list[Lesson]:
    """The lessons that the command line names, by their folder or anything in or above it."""
    chosen = []
    for lesson in lessons():
        for argument in config.args:
            path = Path(config.invocation_params.dir, argument.split("::")[0]).resolve()
            folder = lesson.folder.resolve()
            if folder == path or path in folder.parents or folder in path.parents:
                chosen.append(lesson)
                break
    return chosen


def lesson_of(path: Path) -> Lesson:
    for lesson in lessons():
        if lesson.folder == path.parent:
            return lesson
    raise InputError(f"{path} is in no lesson's folder")


def submitted_file(config: pytest.Config, lesson: Lesson) -> Path:
    """The file to grade: the lesson's exercise.py, or what the options name in its place."""
    exercise = config.getoption("--exercise")
    folder = config.getoption("--submission")
    if exercise:
        return Path(exercise)
    if not folder:
        return lesson.exercise
    inside = Path(folder) / lesson.name / "exercise.py"
    found = inside if inside.exists() else Path(folder) / f"{lesson.name}.py"
    # A link may lead to another student's file; one as the last part is refused when it is read.
    if not found.parent.resolve().is_relative_to(Path(folder).resolve()):
        return Path(folder) / f"{lesson.name}.py (a link that leaves the folder)"
    return found


def summary_lines(rows: Sequence[Result]) -> list[str]:
    """A table of points: one line per lesson, and the total."""
    lines = []
    names = list(dict.fromkeys(row.lesson for row in rows))
    for name in names:
        mine = [row for row in rows if row.lesson == name]
        lines.append(f"{name:<16} {points_of(mine)}{not_passed(mine)}")
    if len(names) > 1:
        lines.append(f"{'total':<16} {points_of(rows)}")
    return lines


def points_of(rows: Sequence[Result]) -> str:
    got, most = sum(row.score for row in rows), sum(row.max_score for row in rows)
    return f"{got:3} of {most:3} points"


def not_passed(rows: Sequence[Result]) -> str:
    """The checks that did not pass, as "   failed: grid (transposed); timeout: learns"."""
    parts = []
    for status in ("failed", "error", "timeout", "skipped"):
        named = [
            f"{row.check} ({row.diagnosis})" if row.diagnosis else row.check
            for row in rows
            if row.status == status
        ]
        if named:
            parts.append(f"{status}: {', '.join(named)}")
    return "   " + "; ".join(parts) if parts else ""
