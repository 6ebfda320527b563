"""The one exception a user is meant to read, and a command line that raises it."""

import argparse
from typing import NoReturn


class InputError(Exception):
    """Something the user gave cannot be used: a file, a folder, a size, a rate.

    The message is one line that says what was wrong, where, and what to try.
    `train.py` prints it after "error: " and exits with status 2, so it never
    shows a traceback; a mistake of our own stays an ordinary exception.
    """


class OneLineParser(argparse.ArgumentParser):
    """An argument parser whose complaints are `InputError`s, one line like all the others."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} ({self.prog} --help lists everything)")
