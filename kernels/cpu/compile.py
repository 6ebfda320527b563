"""How the CPU backend is compiled, and how compiled code is kept without ever becoming stale.

Numba can cache what it compiled, but it looks only at the one file a function stands in: change a
constant in `config.py` and the old code would run on. So the cache folder is named after the
content of every file in this package; any change anywhere means a new folder.
"""

import hashlib
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import cfunc, njit, typeof, types
from numba.core.cpu_options import ParallelOptions
from numba.experimental import function_type  # noqa: F401  (only then has `Nowhere` a type)
from numba.extending import intrinsic

PACKAGE = Path(__file__).resolve().parent.parent
PREFIX = "compiled-"


def use_fresh_cache():
    """Point Numba's cache at a folder for exactly this source. Returns the folder, if there is one.

    A folder that the user names in NUMBA_CACHE_DIR is left as it is. Where no folder can be
    written, every start compiles anew, which costs some ten seconds and nothing else.
    """
    name = PREFIX + source_fingerprint()
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return Path(chosen) / name if can_hold_files(Path(chosen)) else None
    for parent in cache_parents():
        folder = parent / name
        if can_hold_files(folder):
            remove_older(parent, folder)
            numba.config.CACHE_DIR = str(folder)
            return folder
    return None


def folder_for(kind):
    """A folder for other compiled code of this source, which only the user may enter; or None."""
    if FOLDER is None:
        return None
    folder = FOLDER / kind
    try:
        folder.parent.mkdir(exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return None
    return folder


def cache_parents():
    yield PACKAGE / "__pycache__"
    try:
        yield Path.home() / ".cache" / "learn-a-lake"
    except RuntimeError:  # a container may run as a user that nobody has named
        return


def can_hold_files(folder):
    """Make the folder if it is missing, and try: on a read-only disk, permissions say nothing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def source_fingerprint():
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(
            path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0"
        )
    return digest.hexdigest()[:16]


def remove_older(parent, keep):
    for folder in parent.glob(PREFIX + "*"):
        if folder != keep:
            shutil.rmtree(folder, ignore_errors=True)


# Numba refuses to compile at all what it is asked to keep and cannot.
FOLDER = use_fresh_cache()
KEEP = FOLDER is not None

# A thread that waits for the others should sleep, not spin: on a laptop that also runs a browser,
# spinning keeps the very thread it waits for off the processor (we measured: three times slower).
# But falling asleep for the time of one barrier costs more than a wait of some ten microseconds.
# Numba loads the thread library at the first parallel call, and that reads this then.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

# Dividing by zero gives infinity, as on a GPU. The check that Python wants instead would be a
# branch, and a loop with a branch out of it is not vectorised.
OPTIONS: dict[str, Any] = {"error_model": "numpy"}
# What only other functions call is part of them, and they are kept. Nobody calls it from C.
PART: dict[str, Any] = {**OPTIONS, "no_cfunc_wrapper": True}
KEPT: dict[str, Any] = {**OPTIONS, "cache": KEEP}
# "Reordered" lets the compiler keep 16 partial sums, one per element of a vector register, where
# the source says one; NaN and infinity keep their meaning.
REORDERED = {"reassoc", "contract", "nsz"}
# Only `prange` is divided among threads. Numba would divide array operations too, even to fill ten
# numbers with zeros, and compile a function for each.
PRANGE_ONLY = {name: name == "prange" for name in ParallelOptions.__slots__ if name != "enabled"}
PARALLEL: dict[str, Any] = {**KEPT, "parallel": ParallelOptions(PRANGE_ONLY)}

compiled = njit(**PART)
compiled_reordered = njit(**PART, fastmath=REORDERED)
compiled_cached = njit(**KEPT)
compiled_parallel = njit(**PARALLEL)


@intrinsic
def next_of(context, array, place):
    """array[place], which grows by one: each thread that asks gets another number."""

    def generate(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.gep(array.data, [arguments[1]])
        return builder.atomic_rmw("add", place, context.get_constant(types.int64, 1), "monotonic")

    return types.int64(array, types.intp), generate


def compiled_apart(function, *arguments):
    """`function`, compiled for arguments of these types, as something that compiled code can call.

    Numba links what a function calls into it and optimises all of it anew, at every level; and a
    parallel loop makes four functions of its body. What is large and seldom called is better
    compiled once, and called by its address: that halves the wait at a first start.
    """
    return compiled_for(function, tuple(map(typeof, arguments)))


@cache
def compiled_for(function, argument_types):
    return cfunc(types.void(*argument_types), **KEPT)(function)


class Nowhere(types.WrapperAddressProtocol):
    """The type of a compiled function without the function: enough to compile what calls it."""

    def __init__(self, argument_types):
        self.argument_types = argument_types

    def signature(self):
        return types.void(*self.argument_types)

    def __wrapper_address__(self):
        return 1  # nobody calls it, but Numba refuses zero


def nowhere(function, *arguments):
    """In place of `compiled_apart`, to compile a loop around `function` that never runs."""
    return Nowhere(tuple(map(typeof, arguments)))
