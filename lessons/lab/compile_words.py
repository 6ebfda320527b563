"""Numba's error about a kernel, in the words of the kernel: what is wrong, and what to write."""

import builtins
import difflib
import operator
import re
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import TypeAlias

import numpy as np

from .compile_checks import numpy_message
from .names import KNOWN_PATHS, recognise
from .numba_compiler import CompileError
from .source import MISSING, Source
from .type_words import ARRAY, split_types, type_in_words, types_in_words

Match: TypeAlias = re.Match[str]
MOST_CHARACTERS = 200  # of Numba's own words
NUMBAS_OWN = "Numba does not compile what is called or computed here for values of these types"
OPERATORS = {name for name in dir(operator) if not name.startswith("_")}
# Of an error that is none of Numba's own, but a failure of its compiler.
FAILURES = ("AttributeError", "KeyError", "AssertionError", "TypeError", "IndexError", "ValueError")


def explain(error: CompileError, source: Source) -> str:
    """What is wrong, and what to write instead.

    source: the function in which the error is, the kernel or one that it calls.
    """
    text = " ".join(error.message.split())
    for pattern, words in TRANSLATIONS:
        found = re.search(pattern, text)
        if found:
            return found.expand(words) if isinstance(words, str) else words(found, source)
    return f"Numba does not compile this: {first_words(error)}"


def first_words(error: CompileError) -> str:
    """The sentence of a message of Numba's that says most."""
    lines = [line.strip() for line in error.message.splitlines()]
    useful = [line for line in lines if line and not line.startswith(("Failed in", "During:"))]
    words = useful[0] if useful else "no message"
    if error.kind in FAILURES:
        words = f"its compiler fails with {error.kind}: {words}"
    return words[:MOST_CHARACTERS]


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
        return f"cuda.{name} is for the host, and does not exist in a kernel"
    if "random" in module:
        return (
            f"`{module}.{name}` does not exist in a kernel: make states with "
            "numba.cuda.random.create_xoroshiro128p_states and pass them, or draw on the host"
        )
    return f"`{module}.{name}` does not exist in a kernel: write it out, or compute it on the host"


def missing_attribute(found: Match, source: Source) -> str:
    if found["type"].startswith("list("):
        return "a list is built here, and kernels have none: use a tuple, or cuda.local.array"
    return f"{type_in_words(found['type'])} has no `.{found['name']}` in a kernel"


# ---------------------------------------------------------------- types


def wrong_index(found: Match, source: Source) -> str:
    kind = found["type"]
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
    return f"{type_in_words(found['type'])} cannot be called like this"


def no_implementation(found: Match, source: Source) -> str:
    name, types = found["name"], split_types(found["types"])
    if name == "setitem" and len(types) == 3:
        return f"{type_in_words(types[2])} cannot be stored in {type_in_words(types[0])}"
    if name in ("getitem", "setitem", "delitem"):
        return f"{type_in_words(types[0])} cannot be indexed like this"
    if name not in OPERATORS and name not in " ".join(source.lines.values()):
        return NUMBAS_OWN  # a function within the one that the kernel calls
    return f"`{name}` does not take {types_in_words(found['types'])} in a kernel"


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


# ---------------------------------------------------------------- what stands for what

SIGNATURE = r"(?P<name>[\w<> ]+)\((?P<types>.*?)\) There are"
WANTED = rf"found for signature: >>> {SIGNATURE}"
# A pattern in Numba's message -> the words, with the pattern's groups, or what makes them.
TRANSLATIONS: list[tuple[str, str | Callable[[Match, Source], str]]] = [
    (r"Untyped (?:global|freevar) name '(?P<name>\w+)'", untyped_name),
    (r"NameError: name '(?P<name>\w+)' is not defined", undefined_name),
    (
        r"Variable '(?P<name>\w+)' is not defined",
        r"`\g<name>` is used before anything is assigned to it",
    ),
    (r"module '(?P<owner>numba\.cuda)' has no attribute '(?P<name>\w+)'", missing_in_cuda),
    (r"type object '(?P<owner>\w+)' has no attribute '(?P<name>\w+)'", missing_in_cuda),
    (
        r"module '(?P<module>[\w.]+)' has no attribute '(?P<name>\w+)'",
        r"there is no `\g<module>.\g<name>`; is it misspelt?",
    ),
    (
        r"Unknown attribute '(?P<name>\w+)' of type Module\(<module '(?P<module>[\w.]+)'",
        missing_in_module,
    ),
    (r"Unknown attribute '(?P<name>\w+)' of type (?P<type>.*?) File", missing_attribute),
    (
        r"Cannot resolve setattr: .*?\)\.(?P<name>\w+) =",
        r"`.\g<name>` cannot be assigned to in a kernel",
    ),
    (
        r"Cannot bind '.*?' to signature '(?P<signature>.*?)' "
        r"due to \"TypeError: (?P<problem>.*?)\"",
        wrong_arguments,
    ),
    (r"Unsupported array index type (?P<type>.*?) in \[", wrong_index),
    (r"cannot index (?P<type>.*?) with (?P<count>\d+) ind", wrong_dimensions),
    (
        r"Cannot modify readonly array",
        "this array is read-only: pass a copy of it; a module's array must be passed as an "
        "argument to be written to",
    ),
    (r"Cannot unify (?P<one>.*) and (?P<other>.*?) for '(?P<name>[^']+)'", different_types),
    (r"No conversion from .*? to none for", "a kernel cannot return a value; write it to an array"),
    (
        r"Int value is too large: (?P<number>-?\d+)",
        r"the number \g<number> does not fit into 64 bits",
    ),
    (r"<ufunc '(?P<name>\w+)'>", no_ufunc),
    (
        r"NRT required but not enabled",
        "this needs new memory, as lists and copies of arrays do, and a kernel cannot get any: "
        "use a tuple, or cuda.local.array",
    ),
    (
        r"has no attribute 'set_try_status'|exception_match\(",
        "exceptions cannot be caught in kernels: test for the case with an if",
    ),
    (
        r"has no attribute 'insert_unresolved_ref'",
        "a function calls itself here; recursion is not for kernels: write a loop",
    ),
    (
        r"has no attribute 'return_dynamic_user_exc'",
        "what an exception says must be constant, such as a text in quotes",
    ),
    (r"has no attribute 'build_set'", "sets do not exist in kernels"),
    (r"has no attribute 'build_map'|DictType\[", "dicts do not exist in kernels"),
    (
        r"Type of variable '.*?' cannot be determined",
        "Numba cannot tell the type of a value here; with a := in this line, assign in a line "
        "of its own",
    ),
    (
        r"Invalid use of getiter with parameters \((?P<type>.*?)\) (?:During|File)",
        not_iterable,
    ),
    (r"Invalid use of (?P<type>.*?) with parameters", not_a_function),
    (
        r"^(?P<name>\w+)\(\) (?P<problem>(?:missing|takes|got) .*)",
        r"cuda.\g<name>: \g<problem>",
    ),
    (
        r"argument can only be 1, 2, 3",
        "cuda.grid and cuda.gridsize take 1, 2 or 3, written as a number",
    ),
    (r"values to unpack \(expected (?P<count>\d+)", wrong_count),
    (r"tuple index out of range", "this tuple has fewer elements than that"),
    (
        r"failed to unpack (?P<type>.*?) File",
        r"a \g<type> is one value, and cannot be divided among several names",
    ),
    (
        r"expected (?P<left>\d+), got (?P<right>\d+)",
        r"\g<left> names on the left, but \g<right> on the right",
    ),
    (
        r"printing unimplemented for values of type (?P<type>.*)$",
        r"print in a kernel takes numbers and texts in quotes, not \g<type>",
    ),
    (
        r"stubs\.atomic\.\w+'>\) found for signature: >>> "
        r"(?P<name>\w+)\((?P<types>.*?)\) There are",
        no_atomic,
    ),
    (rf"<intrinsic (?:shfl|all|any|eq|ballot|match|syncthreads)\w*>\) {WANTED}", no_warp_function),
    (rf"<function (?:shared|local)\.array at \w+>\) {WANTED}", no_array),
    (rf"No implementation of function .*?{WANTED}", no_implementation),
]
