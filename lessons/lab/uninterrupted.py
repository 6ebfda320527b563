"""Work that Ctrl-C must not stop halfway, such as compiling: it has a thread of its own.

LLVM, which Numba compiles with, hangs or crashes where an exception comes in between. So the main
thread only waits for the work, and Ctrl-C ends the wait. The work is done soon, and ends by itself.
"""

import atexit
import ctypes
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeVar

Result = TypeVar("Result")

SECONDS = 0.2  # between two looks at the keyboard, which on Windows nothing else lets through
SECONDS_AFTER_INTERRUPT = 0.3  # that are left to the work; most of it is done by then
SECONDS_AT_END = 1.0  # of the program

# thread -> set when its work is done. `Thread.is_alive` would not do: in Python 3.11 and before, a
# thread whose `join` was interrupted is said to be dead.
working: dict[threading.Thread, threading.Event] = {}


def uninterrupted(work: Callable[[], Result]) -> Result:
    """What `work()` returns; raises what it raises, and `KeyboardInterrupt` soon after Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        return work()  # Ctrl-C comes to the main thread alone
    done = threading.Event()
    results: SimpleQueue[Result] = SimpleQueue()
    errors: SimpleQueue[BaseException] = SimpleQueue()

    def run() -> None:
        try:
            results.put(work())
        except BaseException as error:
            errors.put(error)
        finally:
            working.pop(thread, None)
            done.set()

    thread = threading.Thread(target=run, name="compiling", daemon=True)
    working[thread] = done
    thread.start()
    try:
        while not done.wait(SECONDS):
            pass
    except BaseException:  # Ctrl-C, or what the handler of another signal raises
        done.wait(SECONDS_AFTER_INTERRUPT)
        raise
    try:
        return results.get_nowait()
    except Empty:
        raise errors.get_nowait() from None


def end_work() -> None:
    """At the end of the program: a thread that goes on while Python ends may crash it."""
    deadline = time.monotonic() + SECONDS_AT_END
    for thread, done in list(working.items()):
        number = ctypes.c_ulong(thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(number, ctypes.py_object(SystemExit))
        done.wait(max(0.0, deadline - time.monotonic()))


atexit.register(end_work)
