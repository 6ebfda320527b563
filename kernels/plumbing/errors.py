"""The one exception a user is meant to read, and a command line that raises it."""

import argparse
from typing import Any, NoReturn


class InputError(Exception):
    """Something the user gave cannot be used: a file, a folder, a size, a rate.

    The message is one line that says what was wrong, where, and what to try.
    `train.py` prints it after "error: " and exits with status 2, so it never
    shows a traceback; a mistake of our own stays an ordinary exception.
    """


def not_empty(text: str) -> str:
    """The type of an argument that names something: an empty one is refused."""
    if not text:  # in a script, a variable that was never set
        raise argparse.ArgumentTypeError("it is empty")
    return text


def whole(text: str) -> int:
    """What `OneLineParser` makes of an argument of type int."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number, such as 500") from None


def number(text: str) -> float:
    """What `OneLineParser` makes of an argument of type float."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number, such as 0.5") from None


class OneLineParser(argparse.ArgumentParser):
    """An argument parser whose complaints are `InputError`s, one line like all the others."""

    def __init__(self, *arguments: Any, **by_name: Any) -> None:
        super().__init__(*arguments, **by_name)
        self.register("type", int, whole)
        self.register("type", float, number)

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} ({self.prog} --help lists everything)")
