"""Ctrl-C while something compiles: the program ends at once, and Python does not tidy up first."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="Windows has no such signals"),
]
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


def test_a_thread_that_still_works_is_not_tidied_up_under():
    assert end_of(seconds=20, later=0) == ""


def test_a_thread_that_is_done_does_no_harm():
    assert end_of(seconds=1, later=1) == "tidied up\n"
