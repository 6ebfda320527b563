"""Small changes of one expression: another operator, number or letter, another order.

Each function yields (new text, kind, words) for one node; `Source.part` keeps together what belongs
together. `EXPRESSIONS` lists them, the likeliest slips first.
"""

import ast
from collections.abc import Callable, Iterator
from typing import Any

from lessons.grading.explain.mutations.names import (
    attributes,
    close_names,
    functions,
    letters,
    names,
    names_for_constants,
    names_of_the_file,
    part_missing,
    times_a_constant,
)
from lessons.grading.explain.mutations.scope import Scope, called_name
from lessons.grading.explain.mutations.source import Proposal, Source

COMPARISONS = {
    "<": ("<=", ">", ">="), "<=": ("<", ">=", ">"), ">": (">=", "<", "<="), ">=": (">", "<=", "<"),
    "==": ("!=", "<", ">="), "!=": ("==", "<", ">"),
}  # fmt: skip
OPERATORS = {
    "+": ("-", "*"), "-": ("+", "*"), "*": ("+", "/", "//", "-"), "/": ("*", "//"),
    "//": ("%", "*", "/"), "%": ("//",), "**": ("*",), "<<": (">>",), ">>": ("<<",),
    "&": ("|", "^"), "|": ("&", "^"), "^": ("&", "|"),
}  # fmt: skip
SYMBOLS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|",
    ast.BitXor: "^", ast.And: "and", ast.Or: "or",
}  # fmt: skip
NUMBERS = "float32", "int32", "int64", "uint32", "uint64"
SUMS, PRODUCTS = (ast.Add, ast.Sub), (ast.Mult, ast.Div)
SWAPPED_OPERANDS = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift)
MOST_QUOTED = 40  # characters of what is left out
MOST_SWAPPED = 4  # arguments, of which each pair is tried; of more, neighbours only


def comparisons(node: ast.AST, source: Source, scope: Scope) -> Iterator[Proposal]:
    if not isinstance(node, ast.Compare):
        return
    sides = [node.left, *node.comparators]
    for index, operator in enumerate(node.ops):
        symbol = SYMBOLS.get(type(operator), "")
        for new in COMPARISONS.get(symbol, ()):
            text = with_other(source, node, sides[index], sides[index + 1], symbol, new)
            if text:
                yield text, "comparison", "with another comparison"


def operators(node: ast.AST, source: Source, scope: Scope) -> Iterator[Proposal]:
    if not isinstance(node, ast.BinOp):
        return
    symbol = SYMBOLS.get(type(node.op), "")
    for new in OPERATORS.get(symbol, ()):
        text = with_other(source, node, node.left, node.right, symbol, new)
        if text and not is_for_nothing(node.right, new):
            yield text, "operator", f"with another operator in place of `{symbol}`"


def is_for_nothing(right: ast.expr, symbol: str) -> bool:
    """Times 1, or divided by 1: that is the left side alone, for which there are plainer words."""
    if isinstance(right, ast.Call) and len(right.args) == 1 and called_name(right) in NUMBERS:
        (right,) = right.args  # uint64(1)
    one = isinstance(right, ast.Constant) and right.value == 1
    return one and symbol in ("*", "/", "//", "**")


def with_other(
    source: Source, node: ast.expr, left: ast.expr, right: ast.expr, symbol: str, new: str
) -> str:
    """The text of `node` with another symbol between two of its parts; "" if it is not found."""
    start, end = source.span(node)
    begin, behind = source.span(left)[1], source.span(right)[0]
    between = source.between(begin, behind)
    if between.count(symbol) != 1 or "#" in between:
        return ""
    before, after = source.between(start, begin), source.between(behind, end)
    return before + between.replace(symbol, new) + after


def both_ways(node: ast.AST, source: Source, scope: Scope) -> Iterator[Proposal]:
    """`a - b` as `b - a`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, SWAPPED_OPERANDS):
        symbol = SYMBOLS[type(node.op)]
        text = f"({source.part(node.right)} {symbol} {source.part(node.left)})"
        yield text, "order of operands", f"with the two sides of `{symbol}` exchanged"


def joined(node: ast.AST, source: Source, scope: Scope) -> Iterator[Proposal]:
    """Conditions joined in another way, or one of them left out."""
    if not isinstance(node, ast.BoolOp):
        return
    other = "or" if isinstance(node.op, ast.And) else "and"
    words = "with the conditions joined in the other way (`and`, `or`)"
    parts = [source.part(value) for value in node.values]
    yield "(" + f" {other} ".join(parts) + ")", "condition", words
    this = SYMBOLS[type(node.op)]
    for left_out in range(len(parts)):
        kept = parts[:left_out] + parts[left_out + 1 :]
        yield "(" + f" {this} ".join(kept) + ")", "condition", "without one of the conditions"


def guarded(node: ast.AST, source: Source, scope: Scope) -> Iterator[Proposal]:
    """`a if inside else 0` without the condition."""
    if isinstance(node, ast.IfExp):
        yield source.part(node.body), "condition", "without this condition"


def numbers(node: ast.AST, source: Source, scope: Scope) -> Iterator[Proposal]:
    if not isinstance(node, ast.Constant) or isinstance(node.value, (bool, str, bytes)):
        return
    text = source.text_of(node)
    if isinstance(node.value, int):
        value = node.value
        near = [value + 1, value - 1, 2 * value, value // 2, 0, 1, -value]
        words = f"with another number in place of `{text}`"
        for other in dict.fromkeys(near):
            if other != value and (other >= 0 or value < 2):
                yield str(other) if other >= 0 else f"({other})", "number", words
    elif isinstance(node.value, float):
        fraction = node.value
        tried = [2 * fraction, fraction / 2, 1 - fraction, -fraction, 0.0, 1.0]
        if fraction:
            tried.append(1 / fraction)
        for new in dict.fromkeys(tried):
            if new != fraction:
                words = f"with another number in place of `{text}`"
                yield repr(new) if new >= 0 else f"({new!r})", "number", words


def indices(node: ast.AST, source: Source, scope: Scope) -> Iterator[Proposal]:
    """Two indices exchanged, or all of them moved on by one."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
        return
    array = source.text_of(node.value)
    parts = [source.text_of(part) for part in node.slice.elts]
    words = f"with the indices of `{array}` in another order"
    for order in orders(parts):
        yield f"{array}[{', '.join(order)}]", "order of indices", words


def index_for_constant(node: ast.AST, source: Source, scope: Scope) -> Iterator[Proposal]:
    """In place of a number, what the same array has as that index in another line."""
    if not isinstance(node, ast.Subscript):
        return
    array, mine = source.text_of(node.value), indices_of(node)
    texts = [source.text_of(index) for index in mine]
    for place, index in enumerate(mine):
        if not isinstance(index, ast.Constant):
            continue
        for new in others_there(array, len(mine), place, source, scope):
            changed = [*texts[:place], new, *texts[place + 1 :]]
            words = f"with another index in place of the number `{texts[place]}`"
            yield f"{array}[{', '.join(changed)}]", "index", words


def others_there(
    array: str, indices: int, place: int, source: Source, scope: Scope
) -> Iterator[str]:
    """What is written as this index of an array in all lines, except numbers; each text once."""
    found = {}
    for node in scope.nodes:
        if isinstance(node, ast.Subscript) and source.text_of(node.value) == array:
            parts = indices_of(node)
            if len(parts) == indices and not isinstance(parts[place], ast.Constant):
                found[source.text_of(parts[place])] = True
    yield from found


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


def arguments(node: ast.AST, source: Source, scope: Scope) -> Iterator[Proposal]:
    """Arguments of a call, or numbers of a pair, in another order."""
    if isinstance(node, ast.Call) and len(node.args) > 1 and called_name(node) != "range":
        if called_name(node) in ("min", "max"):
            return
        name = source.text_of(node.func)
        rest = [f"{word.arg}={source.text_of(word.value)}" for word in node.keywords if word.arg]
        if any(word.arg is None for word in node.keywords):
            return
        words = f"with the arguments of `{name}` in another order"
        for order in orders([source.text_of(argument) for argument in node.args]):
            yield f"{name}({', '.join([*order, *rest])})", "order of arguments", words
    if isinstance(node, ast.Tuple) and 1 < len(node.elts) <= MOST_SWAPPED:
        words = "with the names or numbers there in another order"
        enclosed = source.text_of(node).startswith("(")
        for order in orders([source.part(part) for part in node.elts]):
            new = ", ".join(order)
            yield f"({new})" if enclosed else new, "order of arguments", words


def signs(node: ast.AST, source: Source, scope: Scope) -> Iterator[Proposal]:
    words = "with the opposite sign"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield source.part(node.operand), "sign", words
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield source.part(node.operand), "condition", "without `not`"
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        yield f"(-({source.text_of(node)}))", "sign", words


def wholes(node: ast.AST, source: Source, scope: Scope) -> Iterator[Proposal]:
    """Division rounded up in place of down."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
        left, right = source.part(node.left), source.part(node.right)
        words = "with a division that rounds up"
        yield f"(({left} + {right} - 1) // {right})", "rounding", words


def ranges(node: ast.AST, source: Source, scope: Scope) -> Iterator[Proposal]:
    """A loop that begins or ends one earlier or later."""
    if called_name(node) != "range" or not isinstance(node, ast.Call):
        return
    parts = [source.part(argument) for argument in node.args]
    begin, end, *step = parts if len(parts) > 1 else ["0", *parts]

    def loop(*bounds: str) -> str:
        return f"range({', '.join(bounds)})"

    for new in (f"{end} + 1", f"{end} - 1"):
        yield loop(begin, new, *step), "end of a loop", "with a loop that ends one later or earlier"
    for new in ("1", "0", f"{begin} + 1", f"{begin} - 1"):
        if new != begin and not (begin == "0" and " " in new):
            yield loop(new, end, *step), "beginning of a loop", "with a loop that begins elsewhere"
    for new in [] if step else ["2"]:
        yield loop(begin, end, new), "step of a loop", "with a loop of another step"
    if step:
        yield loop(begin, end), "step of a loop", "with a loop of another step"
    yield loop(f"{end} - 1", f"{begin} - 1", "-1"), "direction of a loop", "with a loop backwards"


def parts_left_out(node: ast.AST, source: Source, scope: Scope) -> Iterator[Proposal]:
    """A product without a factor, a sum without a term."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (*SUMS, *PRODUCTS)):
        return
    what = "terms" if isinstance(node.op, SUMS) else "factors"
    for kept, left_out in ((node.left, node.right), (node.right, node.left)):
        symbol = SYMBOLS[type(node.op)]
        text = source.text_of(left_out)
        text = f"{symbol} {text}" if kept is node.left else f"{text} {symbol}"
        short = len(text) <= MOST_QUOTED and "\n" not in text
        words = f"without `{text}`" if short else f"without one of the {what}"
        yield source.part(kept), what[:-1], words
        if isinstance(kept, ast.BinOp):
            for deeper in (kept.left, kept.right):
                yield source.part(deeper), what[:-1], "without some of the terms or factors"


def parentheses(node: ast.AST, source: Source, scope: Scope) -> Iterator[Proposal]:
    """`a - b * c` as `(a - b) * c`, and the other way."""
    if not isinstance(node, ast.BinOp):
        return
    words = "with parentheses around another part"
    this, left, right = SYMBOLS.get(type(node.op), "@"), node.left, node.right
    if isinstance(right, ast.BinOp):
        other = SYMBOLS.get(type(right.op), "@")
        first, second = source.part(right.left), source.part(right.right)
        yield f"(({source.part(left)} {this} {first}) {other} {second})", "parentheses", words
    if isinstance(left, ast.BinOp):
        other = SYMBOLS.get(type(left.op), "@")
        first, second = source.part(left.left), source.part(left.right)
        if {this, other} not in ({"+"}, {"*"}):
            yield f"({first} {other} ({second} {this} {source.part(right)}))", "parentheses", words


def one_more_or_less(node: ast.AST, source: Source, scope: Scope) -> Iterator[Proposal]:
    """An index, or a side of a comparison, with 1 added or subtracted."""
    parts: list[ast.expr] = []
    if isinstance(node, ast.Subscript):
        parts = indices_of(node)
    if isinstance(node, ast.Compare):
        parts = [node.comparators[-1]]
    start, end = (source.span(node)) if parts and isinstance(node, ast.expr) else (0, 0)
    for part in parts:
        if isinstance(part, (ast.Constant, ast.Slice)):
            continue
        begin, behind = source.span(part)
        for sign in "+-":
            new = f"({source.text_of(part)} {sign} 1)"
            text = source.between(start, begin) + new + source.between(behind, end)
            yield text, "one more or less", f"with one more or less at `{source.text_of(part)}`"


ExpressionChanges = Callable[[Any, Source, Scope], Iterator[Proposal]]

# (the likelier slips have the lower rank)
EXPRESSIONS: tuple[tuple[int, ExpressionChanges], ...] = (
    (0, comparisons), (0, letters), (0, indices), (0, operators), (0, joined), (0, arguments),
    (-2, index_for_constant), (1, guarded),
    (1, numbers), (1, ranges), (1, signs), (1, wholes), (1, functions), (1, attributes),
    (1, both_ways), (1, close_names), (1, names_for_constants), (2, names), (2, one_more_or_less),
    (2, parts_left_out), (2, parentheses), (2, times_a_constant),
    (3, names_of_the_file), (4, part_missing),
)  # fmt: skip
