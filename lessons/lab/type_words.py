"""Numba's names of types, as they stand in its messages, in words."""

import re

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
