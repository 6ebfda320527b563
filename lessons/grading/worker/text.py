"""Strangers' text, made fit to be shown: names of files, messages of exceptions."""

import unicodedata

ALLOWED = "\n\t "
LONGEST = 120  # characters on one line


def printable(text: str) -> str:
    """The text with "?" for every character that no page, terminal or XML file should get."""
    return "".join(
        c if c in ALLOWED or unicodedata.category(c)[0] not in "CZ" else "?" for c in text
    )


def one_line(text: str) -> str:
    """The text on one line, and not too long: the middle is left out."""
    text = printable(text.replace("\n", "?").replace("\t", " "))
    half = LONGEST // 2 - 2
    return text if len(text) <= LONGEST else f"{text[:half]}...{text[-half:]}"
