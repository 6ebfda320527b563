"""Small changes of one expression: another operator, number, letter or name, another order.

Each function yields (new text, kind, words) for one node; `Source.part` keeps together what belongs
together. Those of one kind of node stand in the order in which they are tried.
"""

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any

from lessons.mutations.scope import (
    ARRAY,
    CLOSE,
    MOST_ALIKE,
    WHOLE,
    Scope,
    called_name,
    distance,
)
from lessons.mutations.source import Source

SYMBOLS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|",
    ast.BitXor: "^", ast.MatMult: "@",
}  # fmt: skip
OTHER_SYMBOLS = {
    "<": ("<=", ">", ">="), "<=": ("<", ">=", ">"), ">": (">=", "<", "<="), ">=": (">", "<=", "<"),
    "==": ("!=", "<", ">="), "!=": ("==", "<", ">"),
    "+": ("-", "*"), "-": ("+", "*"), "*": ("+", "/", "//", "-"), "/": ("*", "//"),
    "//": ("%", "*", "/"), "%": ("//",), "**": ("*",), "<<": (">>",), ">>": ("<<",),
    "&": ("|", "^"), "|": ("&", "^"), "^": ("&", "|"),
}  # fmt: skip
SUMS, PRODUCTS = (ast.Add, ast.Sub), (ast.Mult, ast.Div)
ONE_WAY = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift)
TYPES = "float32", "int32", "int64", "uint32", "uint64"
LETTERS = {"x": "yz", "y": "xz", "z": "xy"}
THREAD_OR_BLOCK = {
    "threadIdx": "blockIdx", "blockIdx": "threadIdx", "blockDim": "gridDim", "gridDim": "blockDim",
}  # fmt: skip
ORDINALS = ("first", "second", "third", "fourth")
# Functions that are taken for each other.
FUNCTIONS = {
    "min": ("max",), "max": ("min",), "sin": ("cos",), "cos": ("sin",), "floor": ("ceil",),
    "ceil": ("floor",), "int": ("round",), "round": ("int",), "exp": ("log",), "log": ("exp",),
    "sinpi": ("cospi",), "cospi": ("sinpi",), "int32": ("float32",), "zeros": ("ones",),
    "ones": ("zeros",), "sub": ("add",), "shfl_down_sync": ("shfl_up_sync", "shfl_xor_sync"),
    "shfl_up_sync": ("shfl_down_sync",),
    "shfl_xor_sync": ("shfl_down_sync",), "empty": ("zeros",), "add": ("max", "min", "sub"),
}  # fmt: skip
MOST_QUOTED = 40  # characters of what is left out
MOST_SWAPPED = 4  # arguments, of which each pair is tried; of more, neighbours only

Proposals = Iterator[tuple[str, str, str]]  # new text, kind, words
Propose = Callable[[Any, Source, Scope], Proposals]
EXPRESSIONS: list[tuple[int, tuple[type, ...], Propose]] = []


def slip(rank: int, *kinds: type) -> Callable[[Propose], Propose]:
    """Marks what changes nodes of these kinds. The likelier slips have the lower rank."""

    def mark(propose: Propose) -> Propose:
        EXPRESSIONS.append((rank, kinds, propose))
        return propose

    return mark


# ---------------------------------------------------------------- operators


@slip(0, ast.Compare)
def comparisons(node: ast.Compare, source: Source, scope: Scope) -> Proposals:
    sides = [node.left, *node.comparators]
    for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
        for _, text in with_others(node, left, operator, right, source):
            yield text, "comparison", "with another comparison"


@slip(0, ast.BinOp)
def operators(node: ast.BinOp, source: Source, scope: Scope) -> Proposals:
    for new, text in with_others(node, node.left, node.op, node.right, source):
        if not is_for_nothing(node.right, new):
            words = f"with another operator in place of `{SYMBOLS[type(node.op)]}`"
            yield text, "operator", words


def with_others(
    node: ast.expr, left: ast.expr, operator: ast.AST, right: ast.expr, source: Source
) -> Iterator[tuple[str, str]]:
    """(symbol, text of `node`) with other symbols between two of its parts."""
    symbol = SYMBOLS.get(type(operator), "")
    begin, end = source.span(left)[1], source.span(right)[0]
    between = source.between(begin, end)
    if between.count(symbol) == 1 and "#" not in between:
        for new in OTHER_SYMBOLS.get(symbol, ()):
            yield new, source.replaced(node, begin, end, between.replace(symbol, new))


def is_for_nothing(right: ast.expr, symbol: str) -> bool:
    """Times 1, or divided by 1: that is the left side alone, for which there are plainer words."""
    if isinstance(right, ast.Call) and len(right.args) == 1 and called_name(right) in TYPES:
        (right,) = right.args  # uint64(1)
    one = isinstance(right, ast.Constant) and right.value == 1
    return one and symbol in ("*", "/", "//", "**")


@slip(0, ast.BoolOp)
def joined(node: ast.BoolOp, source: Source, scope: Scope) -> Proposals:
    """Conditions joined in another way, or one of them left out."""
    this, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    words = "with the conditions joined in the other way (`and`, `or`)"
    parts = [source.part(value) for value in node.values]
    yield f"({f' {other} '.join(parts)})", "condition", words
    for left_out in range(len(parts)):
        kept = f" {this} ".join(parts[:left_out] + parts[left_out + 1 :])
        yield f"({kept})", "condition", "without one of the conditions"


@slip(1, ast.UnaryOp, ast.BinOp)
def signs(node: ast.UnaryOp | ast.BinOp, source: Source, scope: Scope) -> Proposals:
    words = "with the opposite sign"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield source.part(node.operand), "sign", words
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield source.part(node.operand), "condition", "without `not`"
    if isinstance(node, ast.BinOp) and isinstance(node.op, PRODUCTS):
        yield f"(-({source.text_of(node)}))", "sign", words


@slip(1, ast.BinOp)
def rounded_up(node: ast.BinOp, source: Source, scope: Scope) -> Proposals:
    if isinstance(node.op, ast.FloorDiv):
        left, right = source.part(node.left), source.part(node.right)
        yield f"(({left} + {right} - 1) // {right})", "rounding", "with a division that rounds up"


@slip(1, ast.BinOp)
def both_ways(node: ast.BinOp, source: Source, scope: Scope) -> Proposals:
    """`a - b` as `b - a`."""
    if isinstance(node.op, ONE_WAY):
        symbol = SYMBOLS[type(node.op)]
        text = f"({source.part(node.right)} {symbol} {source.part(node.left)})"
        yield text, "order of operands", f"with the two sides of `{symbol}` exchanged"


@slip(2, ast.BinOp)
def parts_left_out(node: ast.BinOp, source: Source, scope: Scope) -> Proposals:
    """A product without a factor, a sum without a term."""
    if not isinstance(node.op, (*SUMS, *PRODUCTS)):
        return
    what, symbol = "term" if isinstance(node.op, SUMS) else "factor", SYMBOLS[type(node.op)]
    left, right = source.text_of(node.left), source.text_of(node.right)
    for kept, text in ((node.left, f"{symbol} {right}"), (node.right, f"{left} {symbol}")):
        short = len(text) <= MOST_QUOTED and "\n" not in text
        words = f"without `{text}`" if short else f"without one of the {what}s"
        yield source.part(kept), what, words
        for deeper in (kept.left, kept.right) if isinstance(kept, ast.BinOp) else ():
            yield source.part(deeper), what, "without some of the terms or factors"


@slip(2, ast.BinOp)
def parentheses(node: ast.BinOp, source: Source, scope: Scope) -> Proposals:
    """`a - b * c` as `(a - b) * c`, and the other way."""
    words = "with parentheses around another part"
    this, left, right = SYMBOLS[type(node.op)], node.left, node.right
    if isinstance(right, ast.BinOp):
        first, second = source.part(right.left), source.part(right.right)
        text = f"(({source.part(left)} {this} {first}) {SYMBOLS[type(right.op)]} {second})"
        yield text, "parentheses", words
    if isinstance(left, ast.BinOp):
        other = SYMBOLS[type(left.op)]
        first, second = source.part(left.left), source.part(left.right)
        if {this, other} not in ({"+"}, {"*"}):
            yield f"({first} {other} ({second} {this} {source.part(right)}))", "parentheses", words


# ---------------------------------------------------------------- numbers, indices, arguments


@slip(1, ast.IfExp)
def unguarded(node: ast.IfExp, source: Source, scope: Scope) -> Proposals:
    """`a if inside else 0` without the condition."""
    yield source.part(node.body), "condition", "without this condition"


@slip(1, ast.Constant)
def numbers(node: ast.Constant, source: Source, scope: Scope) -> Proposals:
    value: Any = node.value
    near: list[float] = []
    if isinstance(value, float):
        near = [2 * value, value / 2, 1 - value, -value, 0.0, 1.0]
        near += [1 / value] if value else []
    elif isinstance(value, int) and not isinstance(value, bool):
        near = [value + 1, value - 1, 2 * value, value // 2, 0, 1, -value]
        near = [other for other in near if other >= 0 or value < 2]
    words = f"with another number in place of `{source.text_of(node)}`"
    for other in dict.fromkeys(near):
        if other != value:
            yield repr(other) if other >= 0 else f"({other!r})", "number", words


@slip(0, ast.Subscript)
def indices(node: ast.Subscript, source: Source, scope: Scope) -> Proposals:
    """Two indices exchanged, or all of them moved on by one."""
    array = source.text_of(node.value)
    for order in orders([source.text_of(index) for index in indices_of(node)]):
        words = f"with the indices of `{array}` in another order"
        yield f"{array}[{', '.join(order)}]", "order of indices", words


@slip(-2, ast.Subscript)
def index_for_constant(node: ast.Subscript, source: Source, scope: Scope) -> Proposals:
    """In place of a number, what the same array has as that index in another line."""
    array, texts = source.text_of(node.value), [source.text_of(one) for one in indices_of(node)]
    of_the_array = [
        indices_of(other)
        for other in scope.nodes
        if isinstance(other, ast.Subscript) and source.text_of(other.value) == array
    ]
    for place, index in enumerate(indices_of(node)):
        if not isinstance(index, ast.Constant):
            continue
        others = [parts[place] for parts in of_the_array if len(parts) == len(texts)]
        others = [other for other in others if not isinstance(other, ast.Constant)]
        for new in dict.fromkeys(map(source.text_of, others)):
            changed = ", ".join([*texts[:place], new, *texts[place + 1 :]])
            words = f"with another index in place of the number `{texts[place]}`"
            yield f"{array}[{changed}]", "index", words


@slip(2, ast.Subscript, ast.Compare)
def one_more_or_less(node: ast.Subscript | ast.Compare, source: Source, scope: Scope) -> Proposals:
    """An index, or a side of a comparison, with 1 added or subtracted."""
    parts = indices_of(node) if isinstance(node, ast.Subscript) else node.comparators[-1:]
    for part in parts:
        if isinstance(part, (ast.Constant, ast.Slice)):
            continue
        text = source.text_of(part)
        for sign in "+-":
            new = source.replaced(node, *source.span(part), f"({text} {sign} 1)")
            yield new, "one more or less", f"with one more or less at `{text}`"


def indices_of(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def orders(parts: list[str]) -> Iterator[list[str]]:
    """Other orders of a few texts: each two exchanged, then moved on."""
    for first in range(len(parts)):
        last = len(parts) if len(parts) <= MOST_SWAPPED else min(first + 2, len(parts))
        for second in range(first + 1, last):
            order = list(parts)
            order[first], order[second] = order[second], order[first]
            if order != parts:
                yield order
    if len(parts) == 3 and len(set(parts)) > 1:
        yield parts[1:] + parts[:1]
        yield parts[2:] + parts[:2]


@slip(0, ast.Call)
def arguments(node: ast.Call, source: Source, scope: Scope) -> Proposals:
    if called_name(node) in ("min", "max", "range") or None in [one.arg for one in node.keywords]:
        return
    name = source.text_of(node.func)
    rest = [f"{word.arg}={source.text_of(word.value)}" for word in node.keywords]
    for order in orders([source.text_of(argument) for argument in node.args]):
        words = f"with the arguments of `{name}` in another order"
        yield f"{name}({', '.join([*order, *rest])})", "order of arguments", words


@slip(0, ast.Tuple)
def members(node: ast.Tuple, source: Source, scope: Scope) -> Proposals:
    if len(node.elts) > MOST_SWAPPED:
        return
    enclosed = source.text_of(node).startswith("(")
    for order in orders([source.part(part) for part in node.elts]):
        new = ", ".join(order)
        words = "with the names or numbers there in another order"
        yield f"({new})" if enclosed else new, "order of arguments", words


@slip(1, ast.Call)
def ranges(node: ast.Call, source: Source, scope: Scope) -> Proposals:
    """A loop that begins or ends one earlier or later, has another step, or goes backwards."""
    if called_name(node) != "range":
        return
    parts = [source.part(argument) for argument in node.args]
    begin, end, *step = parts if len(parts) > 1 else ["0", *parts]

    def loop(what: str, words: str, *bounds: str) -> tuple[str, str, str]:
        return f"range({', '.join(bounds)})", f"{what} of a loop", f"with a loop {words}"

    for new in (f"{end} + 1", f"{end} - 1"):
        yield loop("end", "that ends one later or earlier", begin, new, *step)
    for new in ("1", "0", f"{begin} + 1", f"{begin} - 1"):
        if new != begin and not (begin == "0" and " " in new):
            yield loop("beginning", "that begins elsewhere", new, end, *step)
    yield loop("step", "of another step", begin, end, *([] if step else ["2"]))
    yield loop("direction", "backwards", f"{end} - 1", f"{begin} - 1", "-1")


@slip(1, ast.Call)
def functions(node: ast.Call, source: Source, scope: Scope) -> Proposals:
    """Another function in place of the one that is called, or none."""
    name, text, head = called_name(node), source.text_of(node), source.text_of(node.func)
    for other in FUNCTIONS.get(name, ()):
        new = head.removesuffix(name) + other + text[len(head) :]
        yield new, "function", f"with `{other}` in place of `{name}`"
    one = len(node.args) == 1 and not node.keywords and name not in ("grid", "gridsize", "range")
    if one or (name in ("min", "max") and len(node.args) == 2):
        for argument in node.args:
            yield source.part(argument), "function", f"without `{head}`"


# ---------------------------------------------------------------- names


@slip(0, ast.Attribute)
def letters(node: ast.Attribute, source: Source, scope: Scope) -> Proposals:
    """Another of x, y, z; a thread's number for its block's."""
    if not isinstance(node.ctx, ast.Load):
        return
    text, before = source.text_of(node), source.text_of(node.value)
    if before.rpartition(".")[2] in THREAD_OR_BLOCK:
        for letter in LETTERS.get(node.attr, ""):
            yield f"{before}.{letter}", "x, y, z", f"with another of x, y and z in `{text}`"
    if node.attr in THREAD_OR_BLOCK:
        new = f"{before}.{THREAD_OR_BLOCK[node.attr]}"
        yield new, "thread or block", f"with another name in place of `{text}`"


@slip(1, ast.Attribute)
def attributes(node: ast.Attribute, source: Source, scope: Scope) -> Proposals:
    """Another part of the same thing: arrays.weights_1 for arrays.weights_2."""
    before = source.text_of(node.value)
    no_thing = before.rpartition(".")[2] in (*THREAD_OR_BLOCK, "cuda", "math", "np", "numpy")
    if no_thing or node.attr in ("shape", "size", "T", *THREAD_OR_BLOCK):
        return
    for inner in scope.nodes:
        if isinstance(inner, ast.Attribute) and source.text_of(inner.value) == before:
            if inner.attr not in (node.attr, "shape"):
                words = f"with another part of `{before}` in place of `{source.text_of(node)}`"
                yield f"{before}.{inner.attr}", "name", words


@slip(1, ast.Name)
def close_names(node: ast.Name, source: Source, scope: Scope) -> Proposals:
    """Another name that is easily taken for this one."""
    yield from other_names(node, scope, close=True)


@slip(1, ast.Name)
def names_for_constants(node: ast.Name, source: Source, scope: Scope) -> Proposals:
    """A name of the function for a constant of the file."""
    if node.id.isupper() and node.id not in scope.known:
        for name, since in scope.known.items():
            if since <= node.lineno and scope.kinds.get(name) == WHOLE:
                yield name, "name", f"with another name in place of `{node.id}`"


@slip(2, ast.Name)
def names(node: ast.Name, source: Source, scope: Scope) -> Proposals:
    """Another name of the same kind."""
    yield from other_names(node, scope, close=False)


def other_names(node: ast.Name, scope: Scope, close: bool) -> Proposals:
    if isinstance(node.ctx, ast.Load) and node.id in scope.known:
        words = f"with another name in place of {which_one(node, scope)}"
        for other in scope.alike(node.id, node.lineno):
            if (distance(node.id, other) <= CLOSE) == close:
                yield other, "name", words


def which_one(node: ast.Name, scope: Scope) -> str:
    """ "`n`", or "the second `n`" where a line has several."""
    same = (one for one in scope.nodes if isinstance(one, ast.Name) and one.id == node.id)
    here = [other.col_offset for other in same if other.lineno == node.lineno]
    number = sum(column < node.col_offset for column in here)
    if len(here) < 2 or number >= len(ORDINALS):
        return f"`{node.id}`"
    return f"the {ORDINALS[number]} `{node.id}`"


@slip(2, ast.Name)
def times_a_constant(node: ast.Name, source: Source, scope: Scope) -> Proposals:
    """A whole number times a constant that is a factor elsewhere: the number of a tile, say."""
    if isinstance(node.ctx, ast.Load) and scope.kinds.get(node.id) == WHOLE:
        for constant in scope.constant_factors:
            yield f"({node.id} * {constant})", "factor", f"with one more factor at `{node.id}`"


@slip(3, ast.Name)
def names_of_the_file(node: ast.Name, source: Source, scope: Scope) -> Proposals:
    """Another constant or function that the file knows."""
    if isinstance(node.ctx, ast.Load) and node.id in scope.of_the_file:
        for other in sorted(scope.of_the_file - {node.id}):
            if other.isupper() == node.id.isupper():
                yield other, "name", f"with another name in place of `{node.id}`"


@slip(3, ast.Constant)
def constants_for_numbers(node: ast.Constant, source: Source, scope: Scope) -> Proposals:
    if isinstance(node.value, (int, float)) and node.value > 1:
        for other in sorted(scope.of_the_file):
            if re.fullmatch("[A-Z][A-Z0-9_]*", other):
                yield other, "number", f"with a name in place of `{source.text_of(node)}`"


@slip(4, ast.Name, ast.Subscript, ast.Call, ast.BinOp)
def part_missing(node: ast.expr, source: Source, scope: Scope) -> Proposals:
    """One more factor or term, of the names that the function knows."""
    is_read = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
    if not is_read or scope.kind_of(node) == ARRAY:
        return
    text = source.part(node)
    for name, since in list(scope.known.items())[:MOST_ALIKE]:
        if since <= node.lineno and scope.kinds.get(name) != ARRAY and name != "_":
            words = "a name that is known there"
            yield f"({text} * {name})", "factor", f"with one more factor, {words}"
            yield f"({text} + {name})", "term", f"with one more term, {words}"
