"""What kind of mistake a kernel has: from its text beside the mended one, a finding, or numbers."""

import difflib
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

RACE, MISSING, DIVERGENT = "race", "missing barrier", "divergent barrier"
BOUNDS, MEMORY, DEADLOCK = "bounds", "unwritten or stale memory", "deadlock"
LOST, PRECISION, INDEX, VALUES = "lost update", "precision", "index", "values"
SHAPE, HOST, COMPILE = "launch shape", "order of the host", "does not compile"
KINDS = (
    RACE, MISSING, DIVERGENT, BOUNDS, MEMORY, DEADLOCK, LOST, PRECISION, INDEX, SHAPE, HOST, VALUES,
    COMPILE,
)  # fmt: skip

# A finding of the checked simulator -> the kind of the mistake.
KIND_OF_FINDING = {
    "race": RACE, "barrier": DIVERGENT, "out-of-bounds": BOUNDS, "negative": BOUNDS,
    "overflow": BOUNDS, "uninitialised": MEMORY, "unwritten": MEMORY, "deadlock": DEADLOCK,
    "endless": DEADLOCK, "limits": SHAPE, "order": RACE, "compile": COMPILE,
    "unsupported": COMPILE, "raised": VALUES,
}  # fmt: skip

# A call that a kernel has fewer of than the mended one -> the kind.
MISSED = {"syncthreads": MISSING, "syncwarp": MISSING, "atomic": LOST, "threadfence": RACE}
MOST_GONE = 3  # lines: more than that is another way, which may need no such call
SMALL = 2e-5  # relative: a difference of rounding

Program = Mapping[str, Any]


def kind_of_text(kernel: Program, mended: Program) -> str:
    """The kind, if the kernels are right and their launches are not, or a call is missing."""
    if kernel["source"] == mended["source"]:
        return kind_of_launches(kernel, mended)
    gone = [line for line in difflib.ndiff(*map(lines_of, (mended, kernel))) if line[0] == "-"]
    if len(gone) <= MOST_GONE:
        for call, kind in MISSED.items():
            pattern = rf"cuda\.{call}\w*\b"
            counts = [len(re.findall(pattern, one["source"])) for one in (kernel, mended)]
            if counts[0] < counts[1]:
                return kind
    return ""


def lines_of(program: Program) -> list[str]:
    return program["source"].splitlines()


def kind_of_difference(got: np.ndarray, right: np.ndarray, recipe: Mapping[str, Any]) -> str:
    """The kind of a mistake that leaves wrong numbers in an array, and no more."""
    values, wanted = got.astype(np.float64).ravel(), right.astype(np.float64).ravel()
    wrong = values != wanted
    if "full" in recipe and (values[wrong] == recipe["full"]).all():
        return MEMORY
    largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0)
    if got.dtype.kind == "f" and (np.abs(values - wanted)[wrong] < SMALL * largest).all():
        return PRECISION
    if np.isin(values[wrong], wanted).mean() > 0.5 and len(np.unique(wanted)) > 8:
        return INDEX
    return VALUES


def kind_of_launches(kernel: Program, mended: Program) -> str:
    """Of programs with the same kernels: is it how many threads start, or what starts when?"""
    shapes = [
        [(one["grid"], one["block"]) for one in each["launches"]] for each in (kernel, mended)
    ]
    if len(shapes[0]) == len(shapes[1]) and shapes[0] != shapes[1]:
        return SHAPE
    return HOST
