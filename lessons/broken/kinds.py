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

# A finding of the checked simulator -> the kind of the mistake.
OF_FINDING = {
    "race": RACE, "barrier": DIVERGENT, "out-of-bounds": BOUNDS, "negative": BOUNDS,
    "overflow": BOUNDS, "uninitialised": MEMORY, "unwritten": MEMORY, "deadlock": DEADLOCK,
    "endless": DEADLOCK, "limits": SHAPE, "order": RACE, "compile": COMPILE,
    "unsupported": COMPILE, "raised": VALUES,
}  # fmt: skip
# A call that a kernel has fewer of than the mended one -> the kind. In place of an atomic: a store.
MISSED = {"syncthreads": MISSING, "syncwarp": MISSING, "atomic": LOST, "threadfence": RACE}
MOST_GONE = 3  # lines: more than that is another way, which may need no such call
SMALL = 2e-5  # relative: a difference of rounding

Program = Mapping[str, Any]


def kind_of_text(kernel: Program, mended: Program) -> str:
    """The kind, if the kernels are right and their launches are not, or a call is missing."""
    if kernel["source"] == mended["source"]:
        programs = kernel["launches"], mended["launches"]
        names, grids, blocks = (
            [[launch[what] for launch in one] for one in programs]
            for what in ("kernel", "grid", "block")
        )
        same_order = names[0] == names[1]
        return SHAPE if same_order and (grids[0], blocks[0]) != (grids[1], blocks[1]) else HOST
    changes = [*difflib.ndiff(mended["source"].splitlines(), kernel["source"].splitlines())]
    if sum(line[0] == "-" for line in changes) > MOST_GONE:
        return ""
    stores = any(re.match(r"\+ .*\] \+?= ", line) for line in changes)
    for call, kind in MISSED.items():
        fewer = kernel["source"].count(f"cuda.{call}") < mended["source"].count(f"cuda.{call}")
        if fewer and (kind != LOST or stores):
            return kind
    return ""


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
