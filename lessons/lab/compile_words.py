"""Numba's errors and types in the words of the kernel."""

import builtins
import difflib
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import TypeAlias

import numpy as np

from .names import KNOWN_PATHS, for_host, recognise
from .numba_compiler import CompileError
from .numba_types import INSTEAD_OF_NUMPY, name_of_math
from .source import MISSING, Source, called_source

ARRAY = re.compile(r"(?P<readonly>readonly )?array\((?P<dtype>\w+), (?P<dimensions>\d+)d, \w+\)")
LITERAL = re.compile(r"Literal\[(?P<type>\w+)\]\((?P<value>.*)\)")
WORDS = {"none": "None", "int": "a whole number", "str": "a text", "bool": "a truth value"}


def type_in_words(text: str) -> str:
    """ "an array of float32 with 2 dimensions" for "array(float32, 2d, C)"."""
    array = ARRAY.match(text)
    if array:
        count = array["dimensions"]
        first = "a read-only" if array["readonly"] else "an"
        return f"{first} array of {array['dtype']} with {count} dimension{'s' * (count != '1')}"
    literal = LITERAL.match(text)
    if literal:
        return literal["value"] if literal["type"] == "int" else WORDS.get(literal["type"], text)
    if text.startswith(("list(", "reflected list(")):
        return "a list"
    if text.startswith("Tuple(") and len(kinds_in(text[6:-1])) > 1:
        return "a tuple of different types"
    if text.startswith(("Tuple(", "UniTuple(")):
        return "a tuple"
    if "Dispatcher(<function " in text:
        return f"the function {text.partition('<function ')[2].split()[0]}"
    if text.startswith("class("):
        return f"the type {text[6:-1]}"
    if text.startswith("Module("):
        return "a module"
    article = "an" if text[:1] in "aeio" else "a"  # an int32, a uint32
    return WORDS.get(text, f"{article} {text}")


def kinds_in(text: str) -> set[str]:
    """The types of a signature, each once; a number that Numba knows is of its type."""
    return {LITERAL.sub(r"\g<type>", part) for part in split_types(text)}


def split_types(text: str) -> list[str]:
    """The types of a signature, one by one: commas within brackets divide nothing."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character in "([<") - (character in ")]>")
        if character == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    return [*parts, text[start:].strip()] if text.strip() else []


def types_in_words(text: str) -> str:
    """ "(an array of int8 with 1 dimension, 0)": the arguments of a call."""
    return f"({', '.join(map(type_in_words, split_types(text)))})"


# ---------------------------------------------------------------- what Numba refuses

# Each takes the match of a pattern in Numba's message, and the function in which the error is; see
# `compile_words.TRANSLATIONS`.


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


# Names that are not misspelt: what they come from is not imported.
TYPES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 boolean".split()
MODULES = {"cuda": "from numba import cuda", "math": "import math", "np": "import numpy as np"}


def undefined_name(found: Match, source: Source) -> str:
    return f"the name `{found['name']}` is not defined{did_you_mean(found['name'], names(source))}"


def names(source: Source) -> Iterable[str]:
    """All names that a function could mean."""
    code = source.function.__code__
    return (*code.co_varnames, *code.co_freevars, *source.function.__globals__, *dir(builtins))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    module = MODULES.get(name) or (f"from numba import {name}" * (name in TYPES))
    if module:
        return f"; write `{module}` at the top of the file"
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


def wrong_index_type(kind: str) -> str:
    what = f"an index must be a whole number, and this is {type_in_words(kind)}"
    if kind.startswith("IntEnum"):
        return f"{what}: write its number, as in Channel.RED.value"
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


# ---------------------------------------------------------------- errors


MOST_CHARACTERS = 200  # of Numba's own words
# Of an error that is none of Numba's own, but a failure of its compiler.
FAILURES = ("AttributeError", "KeyError", "AssertionError", "TypeError", "IndexError", "ValueError")


def explain(error: CompileError, source: Source) -> str:
    """What is wrong, and what to write instead.

    source: the function in which the error is, the kernel or one that it calls.
    """
    text = " ".join(error.message.split())
    calls, innermost = nested_calls(text)
    inner = translated(innermost, last_called(source, calls)) if calls else None
    if inner:
        names = " calls ".join(f"`{name}`" for name, _ in calls)
        return f"{names} with {types_in_words(calls[-1][1])}: {inner}"
    return translated(text, source) or f"Numba does not compile this: {first_words(error)}"


def last_called(source: Source, calls: Sequence[tuple[str, str]]) -> Source:
    """The function at the end of a chain of calls, whose words the error is about."""
    for name, _ in calls:
        called = called_source(source.lookup(name))
        if called is None:
            break  # called by another name, as of a module
        source = called
    return source


def translated(text: str, source: Source) -> str | None:
    """A message of Numba's in our words; None if it is none that we know."""
    for pattern, words in TRANSLATIONS:
        found = re.search(pattern, text)
        if found:
            return found.expand(words) if isinstance(words, str) else words(found, source)
    return None


def nested_calls(text: str) -> tuple[list[tuple[str, str]], str]:
    """The device functions that call each other down to the error, with types, and the error."""
    calls: dict[str, str] = {}
    end = 0
    for found in re.finditer(NO_DEVICE_FUNCTION, text):
        if found["name"] in calls:
            break  # Numba tells it all again for literal types
        calls[found["name"]] = found["types"]
        end = found.end()
    reason = text[end:].partition("Rejected as the implementation raised a specific error:")[2]
    return list(calls.items()), reason.partition(" raised from ")[0]


def first_words(error: CompileError) -> str:
    """The sentence of a message of Numba's that says most."""
    lines = [line.strip() for line in error.message.splitlines()]
    useful = [line for line in lines if line and not line.startswith(("Failed in", "During:"))]
    words = useful[0] if useful else "no message"
    if error.kind in FAILURES:
        words = f"its compiler fails with {error.kind}: {words}"
    return words[:MOST_CHARACTERS]


# ---------------------------------------------------------------- what stands for what

SIGNATURE = r"(?P<name>[\w<> ]+)\((?P<types>.*?)\) There are"
NO_DEVICE_FUNCTION = (
    r"No implementation of function Function\(<function (?P<name>\w+) at \w+>\) "
    r"found for signature: >>> \w+\((?P<types>.*?)\) There are"
)
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
    (
        r"Unsupported array index type (?P<type>.*?) in (?:\[|Tuple)",
        lambda found, source: wrong_index_type(found["type"]),
    ),
    (r"cannot index (?P<type>.*?) with (?P<count>\d+) ind", wrong_dimensions),
    (
        r"Cannot modify readonly array",
        "this array is read-only: pass a copy of it; a module's array must be passed as an "
        "argument to be written to",
    ),
    (r"Cannot unify (?P<one>.*) and (?P<other>.*?) for '(?P<name>[^']+)'", different_types),
    (
        r"Storing (?:double|float) to ptr of i\d+ \('(?P<name>\w+)",
        r"`\g<name>` is a whole number, and here it becomes one with a fraction: to divide and "
        "stay whole, write // or //=",
    ),
    (r"No conversion from .*? to none for", "a kernel cannot return a value; write it to an array"),
    (
        r"Int value is too large: (?P<number>-?\d+)",
        r"the number \g<number> does not fit into 64 bits",
    ),
    (r"<ufunc '(?P<name>\w+)'>", no_ufunc),
    (
        r"NRT required but not enabled",
        "this needs new memory, as lists, copies of arrays and `a[:] = b` do, and a kernel cannot "
        "get any: use a tuple, or cuda.local.array, and a loop over the elements",
    ),
    (
        r"has no attribute 'set_try_status'|exception_match\(",
        "exceptions cannot be caught in kernels: test for the case with an if",
    ),
    (
        r"has triggered a compiler bug",
        "numba-cuda-mlir's compiler fails at this line, by a mistake of its own: the line may be "
        "right, and has to be written in another way",
    ),
    (
        r"has no attribute 'insert_unresolved_ref'",
        "a function calls itself here, with other types than before or with no end that Numba sees "
        "(`n - 1` of an int32 is an int64: write int32(n - 1)); a loop has no such limits",
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
    (r"Invalid use of getiter with parameters \((?P<type>.*?)\) (?:During|File)", not_iterable),
    (r"Invalid use of (?P<type>.*?) with parameters", not_a_function),
    (r"^(?P<name>\w+)\(\) (?P<problem>(?:missing|takes|got) .*)", r"cuda.\g<name>: \g<problem>"),
    (
        r"Cannot cast UniTuple\(.*? x 1\) to int",
        "an index of one number is written as that number, `i`, not as a tuple `(i,)`",
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


def numpy_message(function: object, text: str) -> str:
    """Of a function of NumPy that a kernel calls as `text`."""
    advice = "use a loop, and cuda.local.array for small arrays"
    if function in INSTEAD_OF_NUMPY:
        advice = f"write {name_of_math(INSTEAD_OF_NUMPY[function])}"
    return f"`{text}` is a NumPy call that Numba does not compile for a GPU: {advice}"


def is_numpy_function(function: object) -> bool:
    if isinstance(function, type):  # np.float32 and its like are types, and fine
        return function is np.ndarray
    if type(function) is np.ufunc:
        return True
    return callable(function) and str(getattr(function, "__module__", "")).split(".")[0] == "numpy"
