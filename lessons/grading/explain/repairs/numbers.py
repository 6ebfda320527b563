"""Which small changes are tried first, by what threads compute: numbers that a right file has, too.

The first number that no right file computes shows where a file goes wrong. There each change of an
expression is computed beside it, in the same run: one whose numbers a right file has is likely.
"""

import ast
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product
from typing import NamedTuple

import numpy as np

from lessons.mutations.source import Change, Source

MOST_STATEMENTS = 12  # that are looked at
MOST_BESIDE = 700  # changes that are computed in one run
MOST_OF_ONE = 140  # of them of one statement
MOST_OF_A_KIND = 50
MOST_LIKELY = 40  # changes that are tried before all others
MOST_PARTS = 12  # nodes of a value that is put in another's place
FIRST = 6  # strange statements, before what leads to the first one
FEW = 2_000  # numbers of a run, of which those of more than one right file are known
MOST_RIGHT = 5
LEVELS = 2  # of what leads to a statement
IN_TURN = 3  # changes of such statements, then one of the others
NEAR = 1e-5  # of a number, for rounding
BETTER = 0.02  # share of the numbers
SURE = 1.5  # see `share_of`
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

    def __init__(self, numbers: np.ndarray) -> None:
        columns = [column[~np.isnan(column)] for column in numbers.T]
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
    right: Sequence[str], computed: ComputedIn,
) -> tuple[list[Change], int]:  # fmt: skip
    """The changes in the order in which to try them, and the first line that looks strange.

    right: `different` right files. computed: what a file computes in a run that fails.
    """
    mine = computed(source.content.decode("utf-8", "replace"), ())
    files = right[: MOST_RIGHT if len(mine.spans) <= FEW else 1]
    theirs = [computed(text, ()).numbers for text in files] if len(mine.spans) else []
    theirs = [one for one in theirs if one.shape[1:] == mine.numbers.shape[1:]]
    if not theirs:
        return list(changes), 0
    known = Known(np.vstack(theirs))
    statements = leading_to(first_strange(mine, known, functions), functions)[:MOST_STATEMENTS]
    inside = [one for one in changes if any(holds(node, one.line) for node in statements)]
    likely = beside(inside, statements, source, functions, known, Known(mine.numbers), computed)
    elsewhere = {*likely, *inside}
    others = iter([one for one in changes if one not in elsewhere])
    # Each second one in the usual order, which knows slips that no numbers show.
    mixed = [one for pair in zip(likely, changes, strict=False) for one in pair]
    mixed += likely
    for place, change in enumerate(inside):
        mixed += [next(others, change)] if place % IN_TURN == IN_TURN - 1 else []
        mixed.append(change)
    return list(dict.fromkeys([*mixed, *others])), statements[0].lineno if statements else 0


def different(right: Sequence[str], functions: Sequence[ast.FunctionDef]) -> list[str]:
    """Right files, one for each way in which these functions are written."""
    found: dict[str, str] = {}
    for text in right:
        theirs = Source(text).functions()
        ways = [ast.dump(theirs[one.name]) for one in functions if one.name in theirs]
        found.setdefault(repr(ways), text)
    return list(found.values())


# ---------------------------------------------------------------- where it goes wrong


def first_strange(
    mine: Numbers, known: Known, functions: Sequence[ast.FunctionDef]
) -> list[ast.stmt]:
    """Statements that compute what no right file does, in the order of time.

    Those that do so no more at the end come last: they only go another way.
    What is strange in a function that is not searched is so by the statement that calls it.
    """
    statements = [node for one in functions for node in ast.walk(one) if isinstance(node, ast.stmt)]
    plain = {span_of(node) for one in functions for node in ast.walk(one)
             if isinstance(node, (ast.Name, ast.Constant))}  # fmt: skip
    strange = (~known.has(mine.numbers) & ~np.isnan(mine.numbers)).any(axis=1)
    found: dict[ast.stmt, bool] = {}
    there = ~np.isnan(mine.numbers).all(axis=1)
    last = {mine.spans[row]: strange[row] for row in np.flatnonzero(there)}
    of_line = {line: node for node in statements if not isinstance(node, ast.FunctionDef)
               for line in range(node.lineno, last_line(node) + 1)}  # fmt: skip
    at: ast.stmt | None = None
    for span, is_strange in zip(mine.spans, strange, strict=True):
        at = of_line.get(span[0], at)
        if is_strange and span[4] and span[:4] not in plain and at is not None:
            found[at] = found.get(at, False) or bool(last[span])
    return sorted(found, key=lambda node: not found[node])


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
    return list(dict.fromkeys([*strange[:FIRST], *found, *strange]))


def names_of(statement: ast.stmt, context: type) -> set[str]:
    """The names in a statement, of one with a body in its head; of a[i] = ... a is stored."""
    nodes = [inner for part in head_of(statement) for inner in ast.walk(part)]
    stored = {id(node.value) for node in nodes if isinstance(node, ast.Subscript)
              and isinstance(node.ctx, ast.Store)}  # fmt: skip
    names = [node for node in nodes if isinstance(node, ast.Name)]
    also = stored if context is ast.Store else set[int]()
    return {node.id for node in names if isinstance(node.ctx, context) or id(node) in also}


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
    tried: list[tuple[ast.stmt, Change | None, int]] = []
    for node in statements:
        old = value_in(source.text_of(node))
        if not old or len(texts) > MOST_BESIDE:
            continue
        value = node.value.elts[-1] if isinstance(node.value, ast.Tuple) else node.value  # type: ignore[attr-defined]
        begin, end = source.span(node)
        within = [one for one in changes if begin <= one.start and one.end <= end]
        seen, most = {old}, len(texts) + MOST_OF_ONE
        for change in (None, *within[:MOST_OF_A_KIND], *other_values(node, functions, source)):
            new = old if change is None else value_in(changed_in(node, change, source))
            if change is None or (new and new not in seen and calls_in(new) <= calls_in(old)):
                seen.add(new)
                terms = terms_in(new) - terms_in(old)
                tried.append((node, change, len(terms)))
                texts.append((span_of(value), ", ".join([new, *sorted(terms)])))
            if len(texts) == most:
                break
    run = computed(source.content.decode("utf-8", "replace"), texts[:MOST_BESIDE])
    rows: dict[int, list[int]] = {}
    for row, span in enumerate(run.spans):
        if span[3] < 0:
            rows.setdefault(span[0], []).append(row)
    likely: list[tuple[bool, int, int, Change]] = []
    for place, node in enumerate(statements):
        of_node = [n for n, (one, *_) in enumerate(tried) if one is node]
        shares: dict[Change | None, float] = {}
        floats = [any(run.spans[row][4] for row in rows.get(n, [])) for n in of_node]
        for n, is_float in zip(of_node, floats, strict=True):
            if is_float == floats[0]:
                numbers = run.numbers[rows.get(n, [])]
                shares[tried[n][1]] = max(
                    share_of(each, known, mine)
                    for each in parts_of_runs(numbers, node, tried[n][2])
                )
        as_is = shares.pop(None, 2.0)
        better = [(one, share) for one, share in shares.items() if one and share > as_is + BETTER]
        better.sort(key=lambda one: -one[1])
        likely += [
            (share < SURE, n // TOGETHER, place, one) for n, (one, share) in enumerate(better)
        ]
    likely.sort(key=lambda entry: entry[:3])
    return [change for *_, change in likely][:MOST_LIKELY]


def parts_of_runs(numbers: np.ndarray, node: ast.stmt, terms: int) -> Iterator[np.ndarray]:
    """Of what a text has computed, time by time: its values; its terms; and sums of `a += b`.

    numbers: the value of an assignment, or b and a + b; then its terms. The sums are as if b had
    been added from the first time on.
    """
    values = 2 if isinstance(node, ast.AugAssign) else 1
    each = values + terms
    if terms == 0 or not len(numbers) or len(numbers) % each:
        yield numbers
    else:
        times = numbers.reshape(-1, each, numbers.shape[1])
        yield times[:, :values].reshape(-1, numbers.shape[1])
        yield from (times[:, term] for term in range(values, each))
        numbers = times[:, :values].reshape(-1, numbers.shape[1])
    if values == 2 and isinstance(node.op, ast.Add) and len(numbers) >= 4:  # type: ignore[attr-defined]
        added, sums = numbers[0::2], numbers[1::2][: len(numbers) // 2]
        later = np.cumsum(np.nan_to_num(added[1:]), axis=0) + np.nan_to_num(sums[0])
        yield np.vstack([added, sums[:1], np.where(np.isnan(added[1:]), np.nan, later)])


def terms_in(text: str) -> set[str]:
    """The terms that a value is a sum of; none if it is none."""
    found: list[ast.expr] = [ast.parse(text, mode="eval").body]
    for node in found:  # which grows
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            found += [node.left, node.right]
    return {ast.unparse(node) for node in found[1:] if isinstance(node, ast.BinOp)
            and not isinstance(node.op, (ast.Add, ast.Sub))}  # fmt: skip


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
    owners = [one.value for one in ast.walk(function)
              if isinstance(one, (ast.Subscript, ast.Attribute))]  # fmt: skip
    arrays = {one.id for one in owners if isinstance(one, ast.Name)}
    values: dict[str, ast.expr] = {}
    for one in ast.walk(function):
        if isinstance(one, (ast.Name, ast.Subscript, ast.BinOp, ast.Call)) and isinstance(
            getattr(one, "ctx", ast.Load()), ast.Load
        ):
            names = {inner.id for inner in ast.walk(one) if isinstance(inner, ast.Name)}
            known = all(begins.get(name, 0) < node.lineno for name in names)
            known = known and not (isinstance(one, ast.Name) and one.id in arrays)
            if len(list(ast.walk(one))) <= MOST_PARTS and known and "shape" not in ast.dump(one):
                values.setdefault(ast.unparse(one), one)
    parts = list(parts_of(node.value))  # type: ignore[attr-defined]
    inside = [index for part in parts if isinstance(part, ast.Subscript)
              for index in getattr(part.slice, "elts", [part.slice])]  # fmt: skip
    known_names = [name for name, one in values.items() if isinstance(one, ast.Name)]
    pairs = [f"{a} {op} {b}" for op in "/*" for a in known_names for b in known_names if a != b]
    constants = [part for part in parts if not any(isinstance(n, ast.Name) and n.id not in PLAIN
                 for n in ast.walk(part))]  # fmt: skip
    terms = terms_in(ast.unparse(node.value)) | {ast.unparse(node.value)}  # type: ignore[attr-defined]
    for part, name, operator in product(parts, known_names, [*"*/"]):
        if ast.unparse(part) in terms:
            new = f"({source.part(part)} {operator} {name})"
            yield source.change(part, new, "factor", "with one more factor, or divisor")
    for places, others in ((constants[:1], pairs), (inside, known_names), (parts, [*values])):
        for part, new in islice(product(places, others), MOST_OF_A_KIND):
            if new != ast.unparse(part):
                words = f"with something else in the place of `{source.text_of(part)}`"
                yield source.change(part, f"({new})", "value", words)


def parts_of(node: ast.AST) -> Iterator[ast.expr]:
    """The values that an expression is made of, itself one; not those in indices."""
    if isinstance(node, (ast.Name, ast.Subscript, ast.BinOp, ast.Call, ast.UnaryOp, ast.Constant)):
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
