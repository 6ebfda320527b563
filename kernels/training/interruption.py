"""Ctrl-C and its kin, without cutting anything in half."""

import signal
import threading
from typing import Any

from kernels.program import ENDING

# What reads the progress has gone, as in `2>&1 | head`. Windows has no such signal.
NO_READER = getattr(signal, "SIGPIPE", None)


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
