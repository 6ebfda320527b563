"""Ctrl-C, without cutting anything in half."""

import signal
import threading
from typing import Any


class Interruption:
    """In a `with` block, Ctrl-C is only noted, so that no step and no file is cut in half.

    Calling it tells whether Ctrl-C was pressed. A second Ctrl-C ends the program at once.
    """

    def __init__(self) -> None:
        self.noted = False

    def __call__(self) -> bool:
        return self.noted

    def __enter__(self) -> "Interruption":
        # Signals reach the main thread alone; a notebook or a window may train in another one.
        self.listens = threading.current_thread() is threading.main_thread()
        if self.listens:
            self.previous = signal.signal(signal.SIGINT, self.note)
        return self

    def __exit__(self, *exception: object) -> None:
        if self.listens:
            signal.signal(signal.SIGINT, self.previous)

    def note(self, *_: Any) -> None:
        if self.noted:
            raise KeyboardInterrupt
        self.noted = True
