"""The one exception a user of the lab is meant to read, and a command line that raises it."""

import argparse
from typing import NoReturn


class InputError(Exception):
    """Something that the lab was given cannot be used: a kernel, a size, a file.

    The message is one line that says what was wrong, where, and what to try.
    """


class ProblemsFound(InputError):
    """A kernel has problems; the message is its report, one line per finding."""


class OneLineParser(argparse.ArgumentParser):
    """An argument parser whose complaints are `InputError`s, one line like all the others."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} ({self.prog} --help lists everything)")
