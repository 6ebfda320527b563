"""Which small changes are tried first, by what threads compute: numbers that a right file has, too.

The first number that no right file computes shows where a file goes wrong. There each change of an
expression is computed beside it, in the same run: one whose numbers a right file has is likely.
"""

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from lessons.mutations.source import Change, Source

MOST_STATEMENTS = 12  # that are looked at
MOST_BESIDE = 300  # changes that are computed in one run
MOST_LIKELY = 40  # changes that are tried before all others
MOST_PARTS = 12  # nodes of a value that is put in another's place
LEVELS = 2  # of what leads to a statement
IN_TURN = 3  # changes of such statements, then one of the others
NEAR = 1e-5  # of a number, for rounding
BETTER = 0.02  # share of the numbers
TOGETHER = 3  # changes of a statement that are tried before those of the next one
PLAIN = {
    "float32",
    "min",
    "max",
    "abs",
    "math.sqrt",
    "math.exp",
    "math.log",
}  # calls, of one thread

Span = tuple[int, ...]  # first line and column of a node, last ones, 1 for a float


class Numbers(NamedTuple):
    """spans: of the node that has computed each row of numbers; columns are threads.

    NaN: a thread took no part.
    """

    spans: list[Span]
    numbers: np.ndarray


# What a text computes, and what other texts are behind nodes of it.
ComputedIn = Callable[[str, Sequence[tuple[Span, str]]], Numbers]


class Known:
    """Numbers that were computed, by thread."""

    def __init__(self, run: Numbers) -> None:
        columns = [column[~np.isnan(column)] for column in run.numbers.T]
        self.columns = [np.sort([*column, np.nan, np.nan]) for column in columns]

    def has(self, numbers: np.ndarray) -> np.ndarray:
        """Which of these are among them; NaN are not."""
        found = np.zeros(numbers.shape, bool)
        for place, known in enumerate(self.columns):
            mine = numbers[:, place]
            at = np.searchsorted(known, mine).clip(1, len(known) - 1)
            with np.errstate(invalid="ignore"):
                for near in (known[at - 1], known[at]):
                    close = np.abs(near - mine) <= NEAR * np.abs(mine)
                    found[:, place] |= close | (near == mine)
        return found


def by_numbers(
    changes: Sequence[Change], source: Source, functions: Sequence[ast.FunctionDef],
    right: str, computed: ComputedIn,
) -> list[Change]:  # fmt: skip
    """The changes in the order in which they should be tried.

    right: a right file. computed: what a file computes in a run that fails.
    """
    mine = computed(source.content.decode("utf-8", "replace"), ())
    theirs = computed(right, ()) if len(mine.spans) else mine
    if mine.numbers.shape[1:] != theirs.numbers.shape[1:] or not len(theirs.spans):
        return list(changes)
    known = Known(theirs)
    statements = leading_to(first_strange(mine, known, functions), functions)[:MOST_STATEMENTS]
    inside = [one for one in changes if any(holds(node, one.line) for node in statements)]
    likely = beside(inside, statements, source, functions, known, Known(mine), computed)
    chosen, elsewhere = {*likely}, {*likely, *inside}
    suspected = [one for one in inside if one not in chosen]
    others = iter([one for one in changes if one not in elsewhere])
    mixed = list(likely)
    for place, change in enumerate(suspected):
        mixed += [next(others, change)] if place % IN_TURN == IN_TURN - 1 else []
        mixed.append(change)
    return [*mixed, *others]


# ---------------------------------------------------------------- where it goes wrong


def first_strange(
    mine: Numbers, known: Known, functions: Sequence[ast.FunctionDef]
) -> list[ast.stmt]:
    """Statements that compute what no right file does, in the order of time.

    What is strange in a function that is not searched is so by the statement that calls it.
    """
    statements = [node for one in functions for node in ast.walk(one) if isinstance(node, ast.stmt)]
    plain = {span_of(node) for one in functions for node in ast.walk(one)
             if isinstance(node, (ast.Name, ast.Constant))}  # fmt: skip
    strange = (~known.has(mine.numbers) & ~np.isnan(mine.numbers)).any(axis=1)
    found: list[ast.stmt] = []
    of_line = {line: node for node in statements if not isinstance(node, ast.FunctionDef)
               for line in range(node.lineno, last_line(node) + 1)}  # fmt: skip
    at: ast.stmt | None = None
    for span, is_strange in zip(mine.spans, strange, strict=True):
        at = of_line.get(span[0], at)
        if is_strange and span[4] and span[:4] not in plain and at is not None and at not in found:
            found.append(at)
    return found


def leading_to(strange: Sequence[ast.stmt], functions: Sequence[ast.FunctionDef]) -> list[ast.stmt]:
    """The first strange statement, what it is within, and what gives its names their values."""
    found = list(strange[:1])
    body = [node for one in functions for node in ast.walk(one) if isinstance(node, ast.stmt)]
    for _ in range(LEVELS):
        names = {name for node in found for name in names_of(node, ast.Load)}
        for node in body:
            around = any(node is not one and holds_all(node, one) for one in found)
            gives = not names.isdisjoint(names_of(node, ast.Store)) or (
                isinstance(node, ast.Expr) and not names.isdisjoint(names_of(node, ast.Load))
            )
            if (around or gives) and node not in found and not isinstance(node, ast.FunctionDef):
                found.append(node)
    return [*found, *(node for node in strange if node not in found)]


def names_of(statement: ast.stmt, context: type) -> set[str]:
    """The names in a statement, of one with a body in its head; of a[i] = ... a is stored."""
    nodes = [inner for part in head_of(statement) for inner in ast.walk(part)]
    stored = {id(node.value) for node in nodes if isinstance(node, ast.Subscript)
              and isinstance(node.ctx, ast.Store)}  # fmt: skip
    return {node.id for node in nodes if isinstance(node, ast.Name)
            and (isinstance(node.ctx, context) or (context is ast.Store and id(node) in stored))}  # fmt: skip


def head_of(statement: ast.stmt) -> list[ast.AST]:
    """The parts of a statement without its body."""
    parts = ast.iter_child_nodes(statement)
    return [part for part in parts if not isinstance(part, ast.stmt)]


def last_line(statement: ast.stmt) -> int:
    """Of its head, if it has a body."""
    return max([statement.lineno, *(getattr(part, "end_lineno", 0) for part in head_of(statement))])


def holds(statement: ast.stmt, line: int) -> bool:
    return statement.lineno <= line <= last_line(statement)


def holds_all(statement: ast.stmt, other: ast.stmt) -> bool:
    return statement.lineno <= other.lineno and (other.end_lineno or 0) <= (
        statement.end_lineno or 0
    )


def span_of(node: ast.expr) -> Span:
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


# ---------------------------------------------------------------- changes side by side


def beside(
    changes: Sequence[Change], statements: Sequence[ast.stmt], source: Source,
    functions: Sequence[ast.FunctionDef], known: Known, mine: Known, computed: ComputedIn,
) -> list[Change]:  # fmt: skip
    """Those changes whose numbers a right file has more often, and this one has not."""
    texts: list[tuple[Span, str]] = []
    tried: list[tuple[ast.stmt, Change | None]] = []
    for node in statements:
        old = value_in(source.text_of(node))
        if not old or len(texts) > MOST_BESIDE:
            continue
        value = node.value.elts[-1] if isinstance(node.value, ast.Tuple) else node.value  # type: ignore[attr-defined]
        begin, end = source.span(node)
        within = [one for one in changes if begin <= one.start and one.end <= end]
        seen = {old}
        for change in (None, *within, *other_values(node, functions, source)):
            new = old if change is None else value_in(changed_in(node, change, source))
            if change is None or (new and new not in seen and calls_in(new) <= calls_in(old)):
                seen.add(new)
                tried.append((node, change))
                texts.append((span_of(value), new))
    run = computed(source.content.decode("utf-8", "replace"), texts[:MOST_BESIDE])
    rows: dict[int, list[int]] = {}
    for row, span in enumerate(run.spans):
        if span[3] < 0:
            rows.setdefault(span[0], []).append(row)
    likely: list[tuple[int, int, Change]] = []
    for place, node in enumerate(statements):
        of_node = [n for n, (one, _) in enumerate(tried) if one is node]
        shares: dict[Change | None, float] = {}
        floats = [any(run.spans[row][4] for row in rows.get(n, [])) for n in of_node]
        for n, is_float in zip(of_node, floats, strict=True):
            if is_float == floats[0]:
                numbers = run.numbers[rows.get(n, [])]
                shares[tried[n][1]] = max(
                    share_of(numbers, known, mine), share_of(summed(numbers, node), known, mine)
                )
        as_is = shares.pop(None, 2.0)
        better = [one for one in shares.items() if one[1] > as_is + BETTER]
        better.sort(key=lambda one: -one[1])
        likely += [(n // TOGETHER, place, one) for n, (one, _) in enumerate(better)]
    likely.sort(key=lambda entry: entry[:2])
    return [change for *_, change in likely][:MOST_LIKELY]


def summed(numbers: np.ndarray, node: ast.stmt) -> np.ndarray:
    """Of `a += b` the sums, if b had been added from the first time on; else the same.

    numbers: b and a + b, from each time.
    """
    if not isinstance(node, ast.AugAssign) or not isinstance(node.op, ast.Add) or len(numbers) < 4:
        return numbers
    each, sums = numbers[0::2], numbers[1::2][: len(numbers) // 2]
    added = np.cumsum(np.nan_to_num(each[1:]), axis=0) + np.nan_to_num(sums[0])
    return np.vstack([each, sums[:1], np.where(np.isnan(each[1:]), np.nan, added)])


def share_of(numbers: np.ndarray, known: Known, mine: Known) -> float:
    """From 0 to 2: how many of the numbers are known, and how many of them are not mine."""
    there = ~np.isnan(numbers)
    if not there.any():
        return 0.0
    right = known.has(numbers) & there
    return float((right.sum() + (right & ~mine.has(numbers)).sum()) / there.sum())


def other_values(
    node: ast.stmt, functions: Sequence[ast.FunctionDef], source: Source
) -> Iterator[Change]:
    """The statement with each part of its value replaced by another value of its function."""
    (function,) = [one for one in functions if holds_all(one, node)]
    begins: dict[str, int] = {}
    for one in ast.walk(function):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            begins[one.id] = min(begins.get(one.id, one.lineno), one.lineno)
    values: dict[str, ast.expr] = {}
    for one in ast.walk(function):
        if isinstance(one, (ast.Name, ast.Subscript, ast.BinOp, ast.Call)) and isinstance(
            getattr(one, "ctx", ast.Load()), ast.Load
        ):
            names = {inner.id for inner in ast.walk(one) if isinstance(inner, ast.Name)}
            known = all(begins.get(name, 0) < node.lineno for name in names)
            if len(list(ast.walk(one))) <= MOST_PARTS and known and "shape" not in ast.dump(one):
                values.setdefault(ast.unparse(one), one)
    for part in parts_of(node.value):  # type: ignore[attr-defined]
        old = source.part(part)
        for new in values:
            if new != ast.unparse(part):
                words = f"with something else in the place of `{old}`"
                yield source.change(part, f"({new})", "value", words)


def parts_of(node: ast.AST) -> Iterator[ast.expr]:
    """The values that an expression is made of, itself one; not those in indices."""
    if isinstance(node, (ast.Name, ast.Subscript, ast.BinOp, ast.Call, ast.UnaryOp)):
        yield node
    for inner in ast.iter_child_nodes(node):
        if not isinstance(node, ast.Subscript) and inner is not getattr(node, "func", None):
            yield from parts_of(inner)


def calls_in(text: str) -> set[str]:
    """What an expression calls, but for what each thread computes by itself."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    return {ast.unparse(node) for node in calls if ast.unparse(node.func) not in PLAIN}


def changed_in(node: ast.stmt, change: Change, source: Source) -> str:
    begin, end = source.span(node)
    return source.between(begin, change.start) + change.new + source.between(change.end, end)


def value_in(text: str) -> str:
    """What a statement gives its target, as an expression; of `a += b` both b and a + b."""
    try:
        (node,) = ast.parse(text).body
    except (SyntaxError, ValueError):
        return ""
    if isinstance(node, (ast.Assign, ast.Return)) and node.value:
        return ast.unparse(node.value)
    if isinstance(node, ast.AugAssign):
        target = ast.parse(ast.unparse(node.target), mode="eval").body
        return f"{ast.unparse(node.value)}, {ast.unparse(ast.BinOp(target, node.op, node.value))}"
    return ""
