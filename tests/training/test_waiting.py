"""Ctrl-C while something compiles: the program ends at once, and Python does not tidy up first."""

import gc
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernels.training import waiting
from kernels.training.waiting import patiently

WITH_SIGNALS = pytest.mark.skipif(
    not hasattr(signal, "pthread_kill"), reason="Windows has no such signals"
)
ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import atexit, signal, threading, time
from kernels.training import waiting

atexit.register(print, "tidied up")
with waiting.compiled_functions():
    pass  # imports the compiler, which takes longer than the interrupt
main = threading.main_thread().ident
threading.Timer(0.5, signal.pthread_kill, (main, signal.SIGINT)).start()
try:
    waiting.patiently("compiling", lambda: time.sleep({seconds}), quiet=True)
except KeyboardInterrupt:
    time.sleep({later})
    waiting.leave(130)
"""


def end_of(seconds, later):
    """What a program prints that is interrupted after half a second, and leaves so much later."""
    code = PROGRAM.format(seconds=seconds, later=later)
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 130 and run.stderr == ""
    return run.stdout


@pytest.mark.parametrize("before", [True, False])
def test_no_garbage_is_looked_for_while_the_compiler_works(before, monkeypatch):
    collecting = {"before": before}
    monkeypatch.setattr(gc, "isenabled", lambda: collecting["before"])
    monkeypatch.setattr(gc, "disable", lambda: collecting.update(now=False))
    monkeypatch.setattr(gc, "enable", lambda: collecting.update(now=True))
    assert patiently("compiling", lambda: collecting["now"], quiet=True) is False
    assert collecting["now"] is before  # as it was


def test_a_log_gets_short_lines_and_ever_fewer(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(waiting.time, "monotonic", lambda: now[0])
    with waiting.training_bar(100, 400, quiet=False) as bar:
        for _ in range(300):
            now[0] += 3
            bar.set_postfix_str("loss 0.00123", refresh=False)
            bar.update()
    printed = capsys.readouterr().err.splitlines()
    assert printed[0] == "step 104 of 400: loss 0.00123"
    assert printed[-1] == "step 400 of 400: loss 0.00123"
    assert len(printed) < 40 and bar.n == 400


def test_a_log_gets_nothing_while_the_compiler_works(capsys):
    assert patiently("compiling", lambda: time.sleep(0.7)) is None
    assert capsys.readouterr().err == ""


def test_garbage_is_looked_for_again_after_an_error():
    with pytest.raises(ZeroDivisionError):
        patiently("compiling", lambda: 1 / 0, quiet=True)
    assert gc.isenabled()


@pytest.mark.parametrize("status, output", [(0, ""), (2, "tidied up\n")])
@pytest.mark.slow
def test_after_success_nothing_is_left_to_tidy_up(status, output):
    code = (
        "import atexit; from kernels.training import waiting; atexit.register(print, 'tidied up')"
    )
    code += f"; print(end='files are closed'); waiting.leave({status})"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == status and run.stderr == ""
    assert run.stdout == "files are closed" + output


@pytest.mark.slow
@WITH_SIGNALS
def test_a_thread_that_still_works_is_not_tidied_up_under():
    assert end_of(seconds=20, later=0) == ""


@pytest.mark.slow
@WITH_SIGNALS
def test_a_thread_that_is_done_does_no_harm():
    assert end_of(seconds=1, later=1) == "tidied up\n"
