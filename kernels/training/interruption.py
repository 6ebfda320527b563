"""Ctrl-C, without cutting anything in half."""

import signal


class Interruption:
    """While open, Ctrl-C only takes a note, so that a step or a file is never cut in half.

    Calling it tells whether Ctrl-C was pressed. A second Ctrl-C ends the program at once.
    """

    def __init__(self):
        self.noted = False

    def __call__(self):
        return self.noted

    def __enter__(self):
        self.previous = signal.signal(signal.SIGINT, self.note)
        return self

    def __exit__(self, *exception):
        signal.signal(signal.SIGINT, self.previous)

    def note(self, *_):
        if self.noted:
            raise KeyboardInterrupt
        self.noted = True
