"""The one exception a user of the lab is meant to read, and a command line that raises it."""

import argparse
import re
from collections.abc import Iterable
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


def refuse_names(arguments: Iterable[str]) -> None:
    """Raise `TypeError` if arguments of a launch are given by name."""
    names = ", ".join(arguments)
    if names:
        raise TypeError(
            f"a kernel takes its arguments by position, as on a GPU: give {names} without a name"
        )


def without_colours(text: str) -> str:
    """A message without the codes that colour it in a terminal, as Numba's have with `colorama`."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
