"""Numba's error about a kernel, in the words of the kernel: what is wrong, and what to write."""

import re
from collections.abc import Callable, Sequence

from .numba_compiler import CompileError
from .refusals import (
    Match,
    different_types,
    missing_attribute,
    missing_in_cuda,
    missing_in_module,
    no_array,
    no_atomic,
    no_implementation,
    no_ufunc,
    no_warp_function,
    not_a_function,
    not_iterable,
    undefined_name,
    untyped_name,
    wrong_arguments,
    wrong_count,
    wrong_dimensions,
    wrong_index,
)
from .source import Source, called_source
from .type_words import types_in_words

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
    (r"Unsupported array index type (?P<type>.*?) in (?:\[|Tuple)", wrong_index),
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
