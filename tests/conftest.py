"""One test suite, several places to run it.

`pytest` needs no GPU: kernels run on the lab's checked simulator and on its native engine.
`pytest -m gpu --require-gpu` runs the tests marked `gpu` on a real GPU, and fails at once, rather
than skip in silence, if there is none.
"""

# ruff: noqa: E402

import collections
import gc
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import pytest

# What a user says to Numba, to pytest and to terminals is not for the tests; before Numba is asked.
FOREIGN = ("NUMBA_", "PYTEST_ADDOPTS", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")
WHERE_CUDA_IS = "NUMBA_CUDA_"
for name in [name for name in os.environ if name.startswith(FOREIGN)]:
    if not name.startswith(WHERE_CUDA_IS):
        del os.environ[name]

from lessons.course import progress
from lessons.grading.explain import evidence

# Before anything asks for them: a user's own progress and pictures stay where they are.
AWAY = Path(tempfile.mkdtemp(prefix="lake-tests-"))
progress.PROGRESS = AWAY / ".progress.json"
evidence.PICTURES = AWAY / "pictures"

from tests.engines import ENGINES

ROOT = Path(__file__).resolve().parent.parent
# What a user may have there; tests make their own.
USERS = [str(ROOT / name) for name in ("runs", "playground.py", "lessons/.progress.json")]
touched = []
LONGEST = "test_compile.py", "test_checks.py", "test_train.py"  # which begin first


def note_what_is_the_users(event, arguments):
    """Called by Python at each of its events: a test that touches a file of the user's fails."""
    if event in ("open", "os.mkdir", "os.remove", "os.rename", "os.listdir", "os.scandir"):
        path = arguments[0]
        if isinstance(path, str | os.PathLike) and os.path.abspath(path).startswith(tuple(USERS)):
            touched.append(f"{event} {path}")


sys.addaudithook(note_what_is_the_users)


@pytest.fixture(autouse=True)
def touches_nothing_of_the_users():
    touched.clear()
    yield touched
    assert touched == []


def pytest_addoption(parser):
    parser.addoption(
        "--require-gpu", action="store_true", help="run kernels on a GPU; fail if there is none"
    )


def heed_signals():
    """In the background (`nohup`, some CI) signals are ignored, also by programs started here."""
    for name, handler in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_configure(config):
    heed_signals()
    if not config.getoption("--require-gpu"):
        return

    from kernels.training.devices import why_no_gpu

    obstacle = why_no_gpu()
    if obstacle:
        raise pytest.UsageError(f"--require-gpu: {obstacle}")


def pytest_collection_finish():
    """Numba's compiler makes many objects that stay: looking through them again and again takes a
    fifth of the whole run's time, and each launch that the lab checks for a program looks."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    if nextitem is None or nextitem.path != item.path:
        pytest_collection_finish()


def pytest_sessionfinish():
    shutil.rmtree(AWAY, ignore_errors=True)


def pytest_generate_tests(metafunc):
    """A test that asks for `engine` runs once on each; `slow_on` names those that take long,
    `thorough_on` those that take very long."""
    if "engine" not in metafunc.fixturenames:
        return
    on_gpu = metafunc.config.getoption("--require-gpu")
    marks = {
        name: mark
        for marker, mark in (
            ("slow_on", pytest.mark.each(4)),
            ("thorough_on", pytest.mark.thorough),
        )
        for found in metafunc.definition.iter_markers(marker)
        for name in found.args
    }
    metafunc.parametrize(
        "engine",
        [
            pytest.param(ENGINES[name](), id=name, marks=marks.get(name, ()))
            for name in (["cuda"] if on_gpu else ["checked", "native"])
        ],
    )


@pytest.fixture
def instruction_engine(request):
    """Where raw instructions run: a GPU, or the checked simulator, which emulates them."""
    return ENGINES["cuda" if request.config.getoption("--require-gpu") else "checked"]()


@pytest.fixture
def real_gpu(request):
    """Skips, visibly, the tests that mean nothing without a GPU."""
    if not request.config.getoption("--require-gpu"):
        pytest.skip("needs a GPU: pytest -m gpu --require-gpu")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """A test with `each(n)`: of its parameters each nth is slow, and the others are thorough."""
    items.sort(key=lambda item: item.path.name not in LONGEST)
    met = collections.Counter()
    for item in items:
        each = item.get_closest_marker("each")
        if each:
            item.add_marker(pytest.mark.thorough if met[item.function] % each.args[0] else "slow")
            met[item.function] += 1
