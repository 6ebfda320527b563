"""Small changes of one statement: left out, moved, in or out of a loop, a barrier before it.

Each function yields changes for one list of statements, such as the body of a loop.
"""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from lessons.course.source_text import source_lines
from lessons.grading.explain.mutations.source import Change, Source

SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr)
MOVED_OUT = (*SIMPLE, ast.For, ast.If, ast.Return)  # of a loop
BARRIER = "cuda.syncthreads()"
STEP = 4  # spaces
MOST_MOVED = 3  # statements at the end of a loop
MOST_BETWEEN = 4  # statements from the beginning of a sum to its loop

Body = Sequence[ast.stmt]


def left_out(body: Body, source: Source) -> Iterator[Change]:
    for statement in body:
        start, end = source.lines_of(statement)
        new = "" if len(body) > 1 else f"{' ' * statement.col_offset}pass\n"
        if isinstance(statement, (*SIMPLE, ast.If, ast.Return, ast.Continue, ast.Break)):
            words = "without this line" if one_line(statement) else "without these lines"
            yield Change(start, end, new, statement.lineno, "line too many", words)
        if isinstance(statement, ast.If) and not statement.orelse:
            test = source.span(statement.test)
            words = "without this condition"
            yield Change(*test, "True", statement.lineno, "condition", words)
        if isinstance(statement, ast.If) and statement.orelse:
            text = f"not ({source.text_of(statement.test)})"
            words = "with the condition turned round"
            yield Change(*source.span(statement.test), text, statement.lineno, "condition", words)


def moved(body: Body, source: Source) -> Iterator[Change]:
    """Two neighbours in the other order."""
    for first, second in pairwise(body):
        if not isinstance(first, (*SIMPLE, ast.For, ast.If)) or independent(first, second):
            continue
        start, middle = source.lines_of(first)[0], source.lines_of(second)[0]
        end = source.lines_of(second)[1]
        above = whole(source.between(start, middle))
        below = whole(source.between(middle, end))
        line = first.lineno if isinstance(first, SIMPLE) else second.lineno
        words = "with this line one further down" if line == first.lineno else "one line further up"
        if not isinstance(first, SIMPLE):
            words = "with this line before the lines above it"
        yield Change(start, end, below + above, line, "order of lines", words)


def independent(first: ast.stmt, second: ast.stmt) -> bool:
    """Whether two statements have no name in common that one of them changes."""
    written = {changed_name(first), changed_name(second)} - {""}
    texts = ast.unparse(first), ast.unparse(second)
    if any(BARRIER in text for text in texts):
        return False
    calls = all(
        isinstance(part, ast.Expr) or not isinstance(part, SIMPLE) for part in (first, second)
    )
    shared = any(all(re.search(rf"\b{name}\b", text) for text in texts) for name in written)
    return not (shared or calls)


def changed_name(statement: ast.stmt) -> str:
    """The name or array that an assignment changes; "" if it is none."""
    target: ast.expr | None = None
    if isinstance(statement, ast.Assign):
        target = statement.targets[0]
    if isinstance(statement, ast.AugAssign):
        target = statement.target
    while isinstance(target, (ast.Subscript, ast.Attribute)):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


def out_of_block(body: Body, source: Source) -> Iterator[Change]:
    """The last statement of a loop or an `if` behind it, the first one before it."""
    for block in body:
        if not isinstance(block, (ast.For, ast.If, ast.While)) or len(block.body) < 2:
            continue
        is_condition = isinstance(block, ast.If)
        what = f"{'condition' if is_condition else 'loop'} of line {block.lineno}"
        first = block.body[0]
        start, end = source.lines_of(block)
        for number in range(1, min(MOST_MOVED, len(block.body) - 1) + 1):
            last = block.body[-number]
            movable = (*SIMPLE, ast.For, ast.If) if is_condition else MOVED_OUT
            if not isinstance(last, movable) or block.orelse:
                break
            begin = source.lines_of(last)[0]
            text = "this line" if last.lineno == block.end_lineno else "the lines from here on"
            new = whole(source.between(start, begin)) + shifted(source.between(begin, end), -STEP)
            words = f"with {text} behind the {what}"
            yield Change(start, end, new, last.lineno, "in or out of a loop", words)
        if isinstance(first, SIMPLE):
            begin, behind = source.lines_of(first)
            words = f"with this line before the {what}"
            moved_text = shifted(source.between(begin, behind), -STEP)
            new = moved_text + source.between(start, begin) + source.between(behind, end)
            yield Change(start, end, new, first.lineno, "in or out of a loop", words)


def into_block(body: Body, source: Source) -> Iterator[Change]:
    """A statement before a loop or an `if` at its beginning, one behind it at its end."""
    for before, block in pairwise(body):
        if isinstance(block, (ast.For, ast.If, ast.While)) and isinstance(before, SIMPLE):
            yield within(before, block, source)
    for block, after in pairwise(body):
        if not isinstance(block, (ast.For, ast.If, ast.While)) or not isinstance(after, SIMPLE):
            continue
        what = "condition" if isinstance(block, ast.If) else "loop"
        start, end = source.lines_of(after)
        depth = block.body[-1].col_offset - after.col_offset
        words = f"with this line within the {what} above it"
        new = shifted(source.between(start, end), depth)
        yield Change(start, end, new, after.lineno, "in or out of a loop", words)


def within(before: ast.stmt, block: ast.For | ast.If | ast.While, source: Source) -> Change:
    """A statement above a loop or an `if` as the first one in it."""
    what = "condition" if isinstance(block, ast.If) else "loop"
    start, behind = source.lines_of(before)
    inside, end = source.lines_of(block.body[0])[0], source.lines_of(block)[1]
    text = shifted(source.between(start, behind), STEP)
    new = source.between(behind, inside) + text + source.between(inside, end)
    words = f"with this line within the {what} below it"
    return Change(start, end, new, before.lineno, "in or out of a loop", words)


def begun_anew(body: Body, source: Source) -> Iterator[Change]:
    """A sum of an inner loop, begun within the outer one, which reads it in each turn."""
    for place, block in enumerate(body):
        if not isinstance(block, (ast.For, ast.While)):
            continue
        sums = {changed_name(node) for node in of_inner_loops(block)} & names_read(block)
        for before in body[max(0, place - MOST_BETWEEN) : place]:
            if isinstance(before, ast.Assign) and changed_name(before) in sums:
                words = "with this line in the loop below it, so that each turn begins a new sum"
                yield within(before, block, source)._replace(words=words)


def of_inner_loops(block: ast.For | ast.While) -> Iterator[ast.AugAssign]:
    """What is added to a name in loops within a loop."""
    for inner in block.body:
        if isinstance(inner, (ast.For, ast.While)):
            yield from (node for node in ast.walk(inner) if isinstance(node, ast.AugAssign))


def names_read(block: ast.For | ast.While) -> set[str]:
    """The names that the simple statements of a loop read, not counting loops within it."""
    nodes = (node for line in block.body if isinstance(line, SIMPLE) for node in ast.walk(line))
    return {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}


def assignments(body: Body, source: Source) -> Iterator[Change]:
    """`=` and `+=`, a plain addition and an atomic one."""
    for statement in body:
        if isinstance(statement, (ast.Assign, ast.AugAssign, ast.Return)) and statement.value:
            span = source.span(statement.value)
            if not isinstance(statement.value, ast.Tuple):
                new = f"-{source.part(statement.value)}"
                yield Change(*span, new, statement.lineno, "sign", "with the opposite sign")
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, (ast.Name, ast.Subscript)):
                for symbol, words in (("+=", "an addition (`+=`)"), ("*=", "a product (`*=`)")):
                    text = f"{source.text_of(target)} {symbol} {source.text_of(statement.value)}"
                    words = f"with {words} in place of the assignment"
                    yield whole_statement(statement, source, text, "assignment", words)
        if isinstance(statement, ast.AugAssign):
            yield from other_additions(statement, source)
        called = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(called, ast.Call) and ast.unparse(called.func) == "cuda.atomic.add":
            array, index, value = map(source.text_of, called.args)
            if isinstance(called.args[1], ast.Tuple):
                index = ", ".join(map(source.text_of, called.args[1].elts))
            value = f"({value})" if "\n" in value else value
            text, words = f"{array}[{index}] += {value}", "with a plain addition"
            yield whole_statement(statement, source, text, "atomic addition", words)


def other_additions(statement: ast.AugAssign, source: Source) -> Iterator[Change]:
    target, value = statement.target, source.text_of(statement.value)
    text = source.text_of(target)
    others = ["=", "-="] if isinstance(statement.op, ast.Add) else ["=", "+="]
    if isinstance(statement.op, (ast.Mult, ast.Div)):
        others = ["=", "/=" if isinstance(statement.op, ast.Mult) else "*="]
    for symbol in others:
        words = f"with `{symbol}` in place of the assignment there"
        yield whole_statement(statement, source, f"{text} {symbol} {value}", "assignment", words)
    if isinstance(target, ast.Subscript) and isinstance(statement.op, (ast.Add, ast.Sub)):
        index = source.text_of(target.slice)
        place = f"({index})" if isinstance(target.slice, ast.Tuple) else index
        sign = "" if isinstance(statement.op, ast.Add) else "-"
        new = f"cuda.atomic.add({source.text_of(target.value)}, {place}, {sign}({value}))"
        words = "with an atomic addition"
        yield whole_statement(statement, source, new, "atomic addition", words)


def whole_statement(
    statement: ast.stmt, source: Source, text: str, kind: str, words: str
) -> Change:
    return Change(*source.span(statement), text, statement.lineno, kind, words)


def once_more(body: Body, source: Source) -> Iterator[Change]:
    """A line of a loop, once more behind it."""
    for block in body:
        if not isinstance(block, (ast.For, ast.While)):
            continue
        end = source.lines_of(block)[1]
        for statement in block.body:
            if isinstance(statement, SIMPLE):
                depth = block.col_offset - statement.col_offset
                text = shifted(source.between(*source.lines_of(statement)), depth)
                words = f"with this line once more behind the loop of line {block.lineno}"
                yield Change(end, end, text, statement.lineno, "line missing", words)


def barriers(body: Body, source: Source) -> Iterator[Change]:
    for statement in body:
        start = source.lines_of(statement)[0]
        new = f"{' ' * statement.col_offset}{BARRIER}\n"
        words = "with a barrier before this line"
        yield Change(start, start, new, statement.lineno, "barrier", words)
    if body:
        end = source.lines_of(body[-1])[1]
        new = f"{' ' * body[-1].col_offset}{BARRIER}\n"
        words = "with a barrier behind this line"
        yield Change(end, end, new, body[-1].lineno, "barrier", words)


def ends(body: Body, source: Source) -> Iterator[Change]:
    """`return` and `continue` and `break`."""
    for statement in body:
        words = "return", "continue", "break"
        plain = isinstance(statement, (ast.Continue, ast.Break)) or (
            isinstance(statement, ast.Return) and statement.value is None
        )
        mine = source.text_of(statement) if plain else ""
        for other in words if plain else ():
            if other != mine:
                told = f"with `{other}` in place of `{mine}`"
                yield whole_statement(statement, source, other, "end of a loop", told)


def answers(body: Body, source: Source) -> Iterator[Change]:
    """A loop that answers in its first turn, or for one where it should for all."""
    for loop, behind in zip(body, [*body[1:], None], strict=True):
        asked = loop.body[-1] if isinstance(loop, (ast.For, ast.While)) else None
        if not isinstance(asked, ast.If):
            continue
        other = asked.orelse[0] if asked.orelse else behind
        first = asked.body[0]
        if not isinstance(first, ast.Return) or not isinstance(other, ast.Return):
            continue
        start, end = source.lines_of(asked)[0], source.lines_of(other)[1]
        test, texts = source.text_of(asked.test), (source.text_of(first), source.text_of(other))
        if asked.orelse:
            words = "with only one of the two answers within the loop, which ends in its first turn"
            new = loop_answer(asked, loop, test, texts)
            yield Change(start, end, new, asked.lineno, "answer of a loop", words)
        words = "with the two answers exchanged, and the condition turned round"
        new = loop_answer(asked, loop, f"not ({test})", texts[::-1])
        yield Change(start, end, new, asked.lineno, "answer of a loop", words)


def loop_answer(asked: ast.If, loop: ast.stmt, test: str, answers: Sequence[str]) -> str:
    """Text of a condition at the end of a loop, with the first answer in it; the second behind."""
    margin, outside = " " * asked.col_offset, " " * loop.col_offset
    return f"{margin}if {test}:\n{margin}    {answers[0]}\n{outside}{answers[1]}\n"


def beginnings(body: Body, source: Source) -> Iterator[Change]:
    """Another value to begin with, for what a loop below adds to or compares with."""
    for statement in body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        text = source.text_of(statement.value)
        begun = re.fullmatch(r"((?:np\.)?float32)\((-?[\w.]+)\)", text)
        for other in ("0", "1", "-math.inf", "math.inf") if begun else ():
            if begun and other != begun[2]:
                new = f"{begun[1]}({other})"
                words = "with another value to begin with"
                span = source.span(statement.value)
                yield Change(*span, new, statement.lineno, "beginning of a sum", words)


def one_line(statement: ast.stmt) -> bool:
    return statement.lineno == statement.end_lineno


def whole(text: str) -> str:
    """The text with an end of its last line."""
    return text if text.endswith("\n") or not text else text + "\n"


def shifted(text: str, spaces: int) -> str:
    """Lines further to the right, or to the left."""
    lines = [line + "\n" for line in source_lines(text)]
    if spaces >= 0:
        return "".join(" " * spaces + line if line.strip() else line for line in lines)
    return "".join(line[-spaces:] if line[:-spaces].isspace() else line for line in lines)


StatementChanges = Callable[[Body, Source], Iterator[Change]]

STATEMENTS: tuple[tuple[int, StatementChanges], ...] = (
    (-2, begun_anew), (0, assignments), (1, out_of_block), (1, into_block), (2, left_out),
    (2, moved), (1, ends), (1, beginnings), (1, answers), (2, once_more), (2, barriers),
)  # fmt: skip
