"""What stands around a program's `main`: signals and streams, so that every end is one line.

A command line calls `prepare` before it imports anything that takes time, and ends with
`sys.exit(run(main))`. Where something else owns signals and streams (a notebook, an editor, a
test), both leave them as they are.
"""

import argparse
import errno
import io
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any, NoReturn

from kernels.plumbing.errors import InputError

EXIT_BAD_INPUT = 2
STARTED = time.perf_counter()  # this file is among the first that a program imports
# Ctrl-C; a request to end, as from a scheduler or a container; a terminal that was closed.
ENDING = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
# What reads the progress has gone, as in `2>&1 | head`. Windows has no such signal.
NO_READER = getattr(signal, "SIGPIPE", None)
REASONS = {
    errno.EPIPE: "nobody reads it any more",
    errno.EBADF: "it is closed",
    errno.ENOSPC: "the disk is full",
}
STREAMS = ("stdin", "stdout", "stderr")  # in the order of their descriptors: 0, 1, 2


class OutputLost(InputError):
    """What the program prints cannot be written: the disk is full, or nobody reads it."""


def prepare() -> None:
    """Take charge of signals and streams. From now on a signal ends the program in one line."""
    if not is_program_of_its_own():
        return
    occupy_closed_streams()
    for name, kind in (("stdout", Output), ("stderr", Remarks)):
        stream = kind(getattr(sys, name))
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    on_signals(leave)


def run(main: Callable[[], int]) -> int:
    """Call `main`; returns the exit status, also when a signal or a lost output ended it."""
    if not isinstance(sys.stdout, Output):
        return main()
    on_signals(interrupt)
    try:
        status = main()
        sys.stdout.flush()
    except OutputLost as error:
        status = complain(error)
    except KeyboardInterrupt as interruption:
        status = complain_of_interruption(interruption)
    # What follows is Python's own tidying up, where an exception would become a traceback.
    on_signals(leave)
    return status


def complain(problem: object) -> int:
    """Print a problem as one line on stderr; returns the exit status."""
    # File names may hold line breaks; a complaint is one line.
    print("error:", " ".join(str(problem).splitlines()), file=sys.stderr)
    return EXIT_BAD_INPUT


# ---------------------------------------------------------------- signals


def on_signals(handler: Callable[[int, FrameType | None], object]) -> None:
    """Call `handler` at each of the signals `ENDING`, but for those that are switched off.

    `nohup` switches one off, and so does a shell that starts a program in the background.
    """
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def leave(number: int, _: object) -> NoReturn:
    """End at once. For times when nothing is half done, such as that of the imports."""
    # An exception would be printed, or swallowed, by half of what runs while modules are loaded.
    with suppress(OSError):
        os.write(2, b"interrupted\n")
    os._exit(128 + number)


def interrupt(number: int, _: object) -> NoReturn:
    on_signals(leave)  # the second time, whatever is being tidied up
    raise KeyboardInterrupt(number)


def complain_of_interruption(interruption: KeyboardInterrupt) -> int:
    """Say that the program was interrupted; returns the status that tells shells the signal."""
    print("interrupted", file=sys.stderr)
    return 128 + (interruption.args[0] if interruption.args else signal.SIGINT)


# ---------------------------------------------------------------- streams


def is_program_of_its_own() -> bool:
    untouched = all(getattr(sys, name) is getattr(sys, f"__{name}__") for name in STREAMS)
    return untouched and "IPython" not in sys.modules


def occupy_closed_streams() -> None:
    """Open in the place of each closed stream (`>&-`) what can be neither read nor written.

    Else the next file to be opened would get its descriptor, and with it whatever a library
    prints there.
    """
    for descriptor, name in enumerate(STREAMS):
        if getattr(sys, name) is None:
            lead_nowhere(descriptor, os.O_WRONLY if name == "stdin" else os.O_RDONLY)
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(descriptor, mode, closefd=False))


def lead_nowhere(descriptor: int, mode: int) -> None:
    opened = os.open(os.devnull, mode)
    if opened != descriptor:
        os.dup2(opened, descriptor)
        os.close(opened)


class Stream(io.TextIOWrapper):
    """A standard stream that tells each line at once, and what it cannot encode in escapes."""

    def __init__(self, stream: io.TextIOWrapper) -> None:
        encoding = stream.encoding
        super().__init__(stream.detach(), encoding, "backslashreplace", line_buffering=True)


class Output(Stream):
    """stdout: raises `OutputLost`, once, when it cannot be written."""

    latest = ""

    def write(self, text: str) -> int:
        self.latest = text.strip() or self.latest
        try:
            return super().write(text)
        except OSError as error:
            raise self.lost(error) from None

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            raise self.lost(error) from None

    def lost(self, error: OSError) -> OutputLost:
        # Python flushes once more at the very end, and would complain about it in its own way.
        lead_nowhere(self.fileno(), os.O_WRONLY)
        reason = REASONS.get(error.errno or 0, error.strerror)
        line = (self.latest.splitlines() or [""])[0]
        return OutputLost(f"cannot write to standard output ({reason}): {line}")


class Remarks(Stream):
    """stderr: progress and complaints. What cannot be written is left out, and the work goes on."""

    def write(self, text: str) -> int:
        with suppress(OSError):
            return super().write(text)
        lead_nowhere(self.fileno(), os.O_WRONLY)
        return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError:
            lead_nowhere(self.fileno(), os.O_WRONLY)


# ---------------------------------------------------------------- Ctrl-C while something runs


class Interruption:
    """In a `with` block, a wish to end is only noted, so that no step and no file is cut in half.

    That is Ctrl-C, or another of the signals `ENDING`, or a reader of the progress that has gone.
    Calling it tells whether there was one. A second Ctrl-C ends the program at once.
    """

    def __init__(self) -> None:
        self.number = 0  # of the signal

    def __call__(self) -> bool:
        return self.number != 0

    def __enter__(self) -> "Interruption":
        self.previous = {}
        # Signals reach the main thread alone; a notebook or a window may train in another one.
        if threading.current_thread() is not threading.main_thread():
            return self
        for number in ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self.previous[number] = signal.signal(number, self.note)
        if NO_READER is not None:  # Python switches it off: else it would kill without a word
            self.previous[NO_READER] = signal.signal(NO_READER, self.note)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self.previous.items():
            signal.signal(number, handler)

    def note(self, number: int, _: Any) -> None:
        if self.number and number != NO_READER:
            raise KeyboardInterrupt(number)
        self.number = self.number or number


def grid_size(text: str) -> tuple[int, int] | None:
    """(width, height) of the feature grid; None for "auto"."""
    if text == "auto":
        return None
    sides = re.fullmatch("([0-9]{1,18})[xX]([0-9]{1,18})", text)
    if not sides:
        raise argparse.ArgumentTypeError(f"{text!r} is not auto or WIDTHxHEIGHT, such as 200x137")
    return int(sides[1]), int(sides[2])
