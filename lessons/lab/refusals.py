"""What Numba refuses, a function per kind of refusal: what is wrong, and what to write instead.

Each takes the match of a pattern in Numba's message, and the function in which the error is; see
`compile_words.TRANSLATIONS`.
"""

import builtins
import difflib
import operator
import re
from collections.abc import Iterable
from types import FunctionType
from typing import TypeAlias

import numpy as np

from .compile_checks import numpy_message
from .names import KNOWN_PATHS, for_host, recognise
from .source import MISSING, Source
from .type_words import ARRAY, split_types, type_in_words, types_in_words

Match: TypeAlias = re.Match[str]
NUMBAS_OWN = "Numba does not compile what is called or computed here for values of these types"
ARRAYS_HAVE = "it has .size, .shape and .ndim, and len() is its first dimension"
DIM3 = "the position of a thread is no function: write cuda.threadIdx.x, .y or .z"
OPERATORS = {name for name in dir(operator) if not name.startswith("_")}


# ---------------------------------------------------------------- names


def untyped_name(found: Match, source: Source) -> str:
    name = found["name"]
    value = source.lookup(name)
    if value is MISSING:  # a name within Numba's own functions
        return NUMBAS_OWN
    return refusal_of_value(name, value)


def refusal_of_value(name: str, value: object) -> str:
    """Why a kernel cannot use this value from outside."""
    if isinstance(value, FunctionType):
        return (
            f"`{name}` is a plain Python function, which Numba does not compile: "
            "write @cuda.jit(device=True) above it"
        )
    known = recognise(value)
    if known is not None and known.path:
        return (
            f"Numba knows this only as cuda.{known.path}, not as `{name}`: write "
            f"`from numba import cuda` at the top of the file, and cuda.{known.path} here"
        )
    if callable(value):
        return f"`{name}` cannot be called in a kernel"
    return (
        f"`{name}` is a Python object ({type(value).__name__}); a kernel can use numbers, "
        "tuples, arrays and functions from outside: bind what you need to a module-level name, "
        f"such as TILE = {name}.tile"
    )


def undefined_name(found: Match, source: Source) -> str:
    return f"the name `{found['name']}` is not defined{did_you_mean(found['name'], names(source))}"


def names(source: Source) -> Iterable[str]:
    """All names that a function could mean."""
    code = source.function.__code__
    return (*code.co_varnames, *code.co_freevars, *source.function.__globals__, *dir(builtins))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    return f"; did you mean `{close[0]}`?" if close else "; is it misspelt?"


def missing_in_cuda(found: Match, source: Source) -> str:
    owner = found["owner"]
    return there_is_no(found["name"] if owner.endswith("cuda") else f"{owner}.{found['name']}")


def there_is_no(path: str) -> str:
    """Of a path below cuda that Numba does not have."""
    close = difflib.get_close_matches(path, KNOWN_PATHS, n=1, cutoff=0.7)
    end = f"; did you mean cuda.{close[0]}?" if close else "; is it misspelt?"
    return f"there is no cuda.{path}{end}"


def missing_in_module(found: Match, source: Source) -> str:
    module, name = found["module"], found["name"]
    if module.endswith("cuda"):
        return for_host(name)
    if "random" in module:
        return no_random(f"{module}.{name}")
    return f"`{module}.{name}` does not exist in a kernel: write it out, or compute it on the host"


def no_random(text: str) -> str:
    return (
        f"`{text}` does not exist in a kernel: make states with "
        "numba.cuda.random.create_xoroshiro128p_states and pass them, or draw on the host"
    )


def missing_attribute(found: Match, source: Source) -> str:
    if found["type"].startswith("list("):
        return "a list is built here, and kernels have none: use a tuple, or cuda.local.array"
    has = f"; {ARRAYS_HAVE}" if ARRAY.match(found["type"]) else ""
    return f"{type_in_words(found['type'])} has no `.{found['name']}` in a kernel{has}"


# ---------------------------------------------------------------- types


def wrong_index(found: Match, source: Source) -> str:
    return wrong_index_type(found["type"])


def wrong_index_type(kind: str) -> str:
    what = f"an index must be a whole number, and this is {type_in_words(kind)}"
    return f"{what}: write //, or int(...)" if kind.startswith("float") else what


def wrong_dimensions(found: Match, source: Source) -> str:
    count = found["count"]
    indices = "1 index" if count == "1" else f"{count} indices"
    return f"{type_in_words(found['type'])} cannot take {indices}: give one per dimension"


def different_types(found: Match, source: Source) -> str:
    name = found["name"].split(".")[0]
    subject = "this" if name.startswith("$") else f"`{name}`"
    one, other = type_in_words(found["one"]), type_in_words(found["other"])
    return (
        f"{subject} is {one} on one path and {other} on another; Numba needs one type for each "
        "name: use two names"
    )


def wrong_arguments(found: Match, source: Source) -> str:
    function = re.search(r"Dispatcher\(<function (?P<name>\S+) at", found.string)
    name = function["name"] if function else "this function"
    return f"{name}{found['signature']}: {found['problem']}"


def not_iterable(found: Match, source: Source) -> str:
    kind = type_in_words(found["type"])
    if kind == "a tuple":
        kind = "a tuple of different types"
    return f"a kernel cannot loop over {kind}"


def not_a_function(found: Match, source: Source) -> str:
    if found["type"] == "Dim3":
        return DIM3
    return f"{type_in_words(found['type'])} cannot be called like this"


def no_implementation(found: Match, source: Source) -> str:
    name, types = found["name"], split_types(found["types"])
    if name == "setitem" and len(types) == 3:
        instead = ": take its .real, or abs() of it" if types[2].startswith("complex") else ""
        stored = f"{type_in_words(types[2])} cannot be stored in {type_in_words(types[0])}"
        return stored + instead
    if name in ("getitem", "setitem", "delitem"):
        if len(types) > 1 and ARRAY.match(types[0]) and "float" in types[1]:
            kind = re.search(r"float\d+", types[1])
            return wrong_index_type(kind[0] if kind else "float64")
        return f"{type_in_words(types[0])} cannot be indexed like this"
    if name not in OPERATORS and name not in " ".join(source.lines.values()):
        return NUMBAS_OWN  # a function within the one that the kernel calls
    refused = f"`{name}` does not take {types_in_words(found['types'])} in a kernel"
    if any(ARRAY.match(kind) for kind in types):
        return f"{refused}: an element has an index for each dimension of its array, a[row, column]"
    return refused


def no_atomic(found: Match, source: Source) -> str:
    name, types = found["name"], found["types"]
    kinds = ["int32", "int64", "uint32", "uint64"]
    if name in ("inc", "dec"):
        kinds = ["uint32", "uint64"]
    elif name in ("add", "sub", "max", "min", "nanmax", "nanmin"):
        kinds += ["float32", "float64"]
    array = ARRAY.match(types)
    if array and array["dtype"] not in kinds:
        return (
            f"cuda.atomic.{name} does not take an array of {array['dtype']}; it takes "
            f"{', '.join(kinds)}"
        )
    return f"cuda.atomic.{name} does not take {types_in_words(types)}"


def no_warp_function(found: Match, source: Source) -> str:
    what = f"cuda.{found['name']} does not take {types_in_words(found['types'])}"
    if found["name"].startswith("shfl"):
        return f"{what}: it passes on int32, int64, float32 and float64"
    return f"{what}: give it a whole number, such as 1 if ... else 0"


def no_array(found: Match, source: Source) -> str:
    return (
        f"no array can be made of {types_in_words(found['types'])}: it takes a shape that is "
        "known before the kernel runs (numbers, or module-level names for them), and a type, "
        "such as float32"
    )


def no_ufunc(found: Match, source: Source) -> str:
    return numpy_message(getattr(np, found["name"], None), f"np.{found['name']}")


def wrong_count(found: Match, source: Source) -> str:
    what = {
        "3": "; an atomic takes an array, an index and a value",
        "4": "; cuda.atomic.cas takes an array, an index, what is expected there, and a value",
    }.get(found["count"], "")
    return f"this call takes {found['count']} arguments{what}"
