"""The one exception a user is meant to read."""


class InputError(Exception):
    """Something the user gave cannot be used: a file, a folder, a size, a rate.

    The message is one line that says what was wrong, where, and what to try.
    `train.py` prints it after "error: " and exits with status 2, so it never
    shows a traceback; a mistake of our own stays an ordinary exception.
    """
