"""Small changes of one statement: left out, moved, in or out of a loop, a barrier before it.

Each function yields changes for one list of statements, such as the body of a loop.
"""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from lessons.course.source_text import source_lines
from lessons.mutations.source import Change, Source

SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr)
LOOPS = (ast.For, ast.While)
BLOCKS = (ast.For, ast.If, ast.While)
BARRIER = "cuda.syncthreads()"
IN_OR_OUT = "in or out of a loop"
STEP = 4  # spaces
MOST_MOVED = 3  # statements at the end of a loop
MOST_BETWEEN = 4  # statements from the beginning of a sum to its loop

Body = Sequence[ast.stmt]
Block = ast.For | ast.If | ast.While


def what_it_is(block: Block) -> str:
    return "condition" if isinstance(block, ast.If) else "loop"


def begun_anew(body: Body, source: Source) -> Iterator[Change]:
    """A sum of an inner loop, begun within the outer one, which reads it in each turn."""
    for place, block in enumerate(body):
        if not isinstance(block, LOOPS):
            continue
        inner = [node for loop in block.body if isinstance(loop, LOOPS) for node in ast.walk(loop)]
        sums = {changed_name(node) for node in inner if isinstance(node, ast.AugAssign)}
        own = [node for line in block.body if isinstance(line, SIMPLE) for node in ast.walk(line)]
        read = {one.id for one in own if isinstance(one, ast.Name) and is_read(one)}
        for before in body[max(0, place - MOST_BETWEEN) : place]:
            if isinstance(before, ast.Assign) and changed_name(before) in sums & read:
                words = "with this line in the loop below it, so that each turn begins a new sum"
                yield within(before, block, source)._replace(words=words)


def is_read(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def assignments(body: Body, source: Source) -> Iterator[Change]:
    """`=` and `+=`, a plain addition and an atomic one."""
    for statement in body:
        if isinstance(statement, (ast.Assign, ast.AugAssign, ast.Return)) and statement.value:
            if not isinstance(statement.value, ast.Tuple):
                new = f"-{source.part(statement.value)}"
                words = "with the opposite sign"
                yield source.change(statement.value, new, "sign", words, statement.lineno)
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, (ast.Name, ast.Subscript)):
                for symbol, what in (("+=", "an addition (`+=`)"), ("*=", "a product (`*=`)")):
                    text = f"{source.text_of(target)} {symbol} {source.text_of(statement.value)}"
                    words = f"with {what} in place of the assignment"
                    yield source.change(statement, text, "assignment", words)
        if isinstance(statement, ast.AugAssign):
            yield from other_additions(statement, source)
        called = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(called, ast.Call) and ast.unparse(called.func) == "cuda.atomic.add":
            array, index, value = map(source.text_of, called.args)
            if isinstance(called.args[1], ast.Tuple):
                index = ", ".join(map(source.text_of, called.args[1].elts))
            value = f"({value})" if "\n" in value else value
            text = f"{array}[{index}] += {value}"
            yield source.change(statement, text, "atomic addition", "with a plain addition")


def other_additions(statement: ast.AugAssign, source: Source) -> Iterator[Change]:
    target, value = statement.target, source.text_of(statement.value)
    others = {ast.Add: "-=", ast.Mult: "/=", ast.Div: "*="}
    for symbol in ("=", others.get(type(statement.op), "+=")):
        text = f"{source.text_of(target)} {symbol} {value}"
        words = f"with `{symbol}` in place of the assignment there"
        yield source.change(statement, text, "assignment", words)
    if isinstance(target, ast.Subscript) and isinstance(statement.op, (ast.Add, ast.Sub)):
        index = source.text_of(target.slice)
        place = f"({index})" if isinstance(target.slice, ast.Tuple) else index
        sign = "" if isinstance(statement.op, ast.Add) else "-"
        new = f"cuda.atomic.add({source.text_of(target.value)}, {place}, {sign}({value}))"
        yield source.change(statement, new, "atomic addition", "with an atomic addition")


def out_of_block(body: Body, source: Source) -> Iterator[Change]:
    """The last statements of a loop or an `if` behind it, the first one before it."""
    for block in body:
        if not isinstance(block, BLOCKS) or len(block.body) < 2:
            continue
        movable = (*SIMPLE, ast.For, ast.If, *([] if isinstance(block, ast.If) else [ast.Return]))
        what = f"{what_it_is(block)} of line {block.lineno}"
        first = block.body[0]
        start, end = source.lines_of(block)
        for last in block.body[:0:-1][:MOST_MOVED]:
            if not isinstance(last, movable) or block.orelse:
                break
            begin = source.lines_of(last)[0]
            text = "this line" if last.lineno == block.end_lineno else "the lines from here on"
            new = whole(source.between(start, begin)) + shifted(source.between(begin, end), -STEP)
            yield Change(start, end, new, last.lineno, IN_OR_OUT, f"with {text} behind the {what}")
        if isinstance(first, SIMPLE):
            begin, behind = source.lines_of(first)
            text = shifted(source.between(begin, behind), -STEP)
            new = text + source.between(start, begin) + source.between(behind, end)
            words = f"with this line before the {what}"
            yield Change(start, end, new, first.lineno, IN_OR_OUT, words)


def into_block(body: Body, source: Source) -> Iterator[Change]:
    """A statement before a loop or an `if` at its beginning, one behind it at its end."""
    for before, block in pairwise(body):
        if isinstance(block, BLOCKS) and isinstance(before, SIMPLE):
            yield within(before, block, source)
    for block, after in pairwise(body):
        if isinstance(block, BLOCKS) and isinstance(after, SIMPLE):
            start, end = source.lines_of(after)
            new = shifted(source.between(start, end), block.body[-1].col_offset - after.col_offset)
            words = f"with this line within the {what_it_is(block)} above it"
            yield Change(start, end, new, after.lineno, IN_OR_OUT, words)


def within(before: ast.stmt, block: Block, source: Source) -> Change:
    """A statement above a loop or an `if` as the first one in it."""
    start, behind = source.lines_of(before)
    inside, end = source.lines_of(block.body[0])[0], source.lines_of(block)[1]
    text = shifted(source.between(start, behind), STEP)
    new = source.between(behind, inside) + text + source.between(inside, end)
    words = f"with this line within the {what_it_is(block)} below it"
    return Change(start, end, new, before.lineno, IN_OR_OUT, words)


def left_out(body: Body, source: Source) -> Iterator[Change]:
    for statement in body:
        if isinstance(statement, (*SIMPLE, ast.If, ast.Return, ast.Continue, ast.Break)):
            new = "" if len(body) > 1 else f"{' ' * statement.col_offset}pass\n"
            one_line = statement.lineno == statement.end_lineno
            words = "without this line" if one_line else "without these lines"
            lines = source.lines_of(statement)
            yield Change(*lines, new, statement.lineno, "line too many", words)
        if isinstance(statement, ast.If):
            test, new, words = statement.test, "True", "without this condition"
            if statement.orelse:
                new, words = f"not ({source.text_of(test)})", "with the condition turned round"
            yield source.change(test, new, "condition", words, statement.lineno)


def moved(body: Body, source: Source) -> Iterator[Change]:
    """Two neighbours in the other order."""
    for first, second in pairwise(body):
        if not isinstance(first, (*SIMPLE, ast.For, ast.If)) or independent(first, second):
            continue
        start, (middle, end) = source.lines_of(first)[0], source.lines_of(second)
        new = whole(source.between(middle, end)) + whole(source.between(start, middle))
        line, words = second.lineno, "with this line before the lines above it"
        if isinstance(first, SIMPLE):
            line, words = first.lineno, "with this line one further down"
        yield Change(start, end, new, line, "order of lines", words)


def independent(first: ast.stmt, second: ast.stmt) -> bool:
    """Whether two statements have no name in common that one of them changes."""
    texts = ast.unparse(first), ast.unparse(second)
    calls = [isinstance(one, ast.Expr) or not isinstance(one, SIMPLE) for one in (first, second)]
    if BARRIER in "\n".join(texts) or all(calls):
        return False
    written = {changed_name(first), changed_name(second)} - {""}
    return not any(all(re.search(rf"\b{name}\b", text) for text in texts) for name in written)


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


def ends(body: Body, source: Source) -> Iterator[Change]:
    """`return` and `continue` and `break`."""
    words = "return", "continue", "break"
    for statement in body:
        mine = source.text_of(statement)
        for other in words if mine in words else ():
            if other != mine:
                told = f"with `{other}` in place of `{mine}`"
                yield source.change(statement, other, "end of a loop", told)


def beginnings(body: Body, source: Source) -> Iterator[Change]:
    """Another value to begin with, for what a loop below adds to or compares with."""
    for statement in body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        text = source.text_of(statement.value)
        begun = re.fullmatch(r"((?:np\.)?float32)\((-?[\w.]+)\)", text)
        for other in ("0", "1", "-math.inf", "math.inf"):
            if begun and other != begun[2]:
                new, words = f"{begun[1]}({other})", "with another value to begin with"
                kind = "beginning of a sum"
                yield source.change(statement.value, new, kind, words, statement.lineno)


def answers(body: Body, source: Source) -> Iterator[Change]:
    """A loop that answers in its first turn, or for one where it should for all."""
    for loop, behind in zip(body, [*body[1:], None], strict=True):
        asked = loop.body[-1] if isinstance(loop, LOOPS) else None
        if not isinstance(asked, ast.If):
            continue
        first, other = asked.body[0], asked.orelse[0] if asked.orelse else behind
        if not isinstance(first, ast.Return) or not isinstance(other, ast.Return):
            continue
        start, end = source.lines_of(asked)[0], source.lines_of(other)[1]
        margin, outside = " " * asked.col_offset, " " * loop.col_offset
        test, one, two = source.text_of(asked.test), source.text_of(first), source.text_of(other)
        if asked.orelse:
            words = "with only one of the two answers within the loop, which ends in its first turn"
            new = f"{margin}if {test}:\n{margin}    {one}\n{outside}{two}\n"
            yield Change(start, end, new, asked.lineno, "answer of a loop", words)
        words = "with the two answers exchanged, and the condition turned round"
        new = f"{margin}if not ({test}):\n{margin}    {two}\n{outside}{one}\n"
        yield Change(start, end, new, asked.lineno, "answer of a loop", words)


def once_more(body: Body, source: Source) -> Iterator[Change]:
    """A line of a loop, once more behind it."""
    for block in body:
        for statement in block.body if isinstance(block, LOOPS) else ():
            if isinstance(statement, SIMPLE):
                end, depth = source.lines_of(block)[1], block.col_offset - statement.col_offset
                text = shifted(source.between(*source.lines_of(statement)), depth)
                words = f"with this line once more behind the loop of line {block.lineno}"
                yield Change(end, end, text, statement.lineno, "line missing", words)


def barriers(body: Body, source: Source) -> Iterator[Change]:
    places = [(one, source.lines_of(one)[0], "before") for one in body]
    places += [(one, source.lines_of(one)[1], "behind") for one in body[-1:]]
    for statement, place, where in places:
        new = f"{' ' * statement.col_offset}{BARRIER}\n"
        words = f"with a barrier {where} this line"
        yield Change(place, place, new, statement.lineno, "barrier", words)


def whole(text: str) -> str:
    """The text with an end of its last line."""
    return text if text.endswith("\n") or not text else text + "\n"


def shifted(text: str, spaces: int) -> str:
    """Lines further to the right, or to the left."""
    lines = [line + "\n" for line in source_lines(text)]
    if spaces >= 0:
        return "".join(" " * spaces + line if line.strip() else line for line in lines)
    return "".join(line[-spaces:] if line[:-spaces].isspace() else line for line in lines)


# The likelier slips have the lower rank.
STATEMENTS: tuple[tuple[int, Callable[[Body, Source], Iterator[Change]]], ...] = (
    (-2, begun_anew), (0, assignments), (1, out_of_block), (1, into_block), (2, left_out),
    (2, moved), (1, ends), (1, beginnings), (1, answers), (2, once_more), (2, barriers),
)  # fmt: skip
