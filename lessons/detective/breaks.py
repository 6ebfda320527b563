"""One change that breaks a right kernel, and of which kind it is: told by the text and by a run."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from random import Random
from typing import NamedTuple

from lessons.detective.running import Ran
from lessons.grading.worker.output import Output
from lessons.mutations.changes import names_of_the_file, of_expressions, of_statements
from lessons.mutations.scope import WHOLE, Scope
from lessons.mutations.source import Change, Source

RACE, BARRIER, BOUNDS, UNWRITTEN = "race", "barrier", "bounds", "unwritten"
DEADLOCK, LOST, PRECISION, INDEX = "deadlock", "lost update", "precision", "index"
SHAPE, ORDER = "launch shape", "host order"
STALE, SLOT, MEETING = "stale", "slot", "meeting"  # causes that are seen as one of several kinds
KINDS = {
    RACE: "two threads touch one element, one of them writes, and nothing orders them",
    BARRIER: "a barrier is missing, or some threads of a block never come to it",
    BOUNDS: "an index lies outside its array",
    UNWRITTEN: "something is read, or handed over, that nobody has written, or that is stale",
    DEADLOCK: "threads wait for ever, or a loop does not end",
    LOST: "two threads add to one number at the same time, and one addition is lost",
    PRECISION: "digits are lost: a type that is too small, or numbers that are too large",
    INDEX: "a wrong element is read or written, inside of the array",
    SHAPE: "the launch has other blocks or threads than the kernel needs",
    ORDER: "the host starts its work in the wrong order",
}
OF_FINDING = {
    "race": RACE, "order": RACE, "barrier": BARRIER, "out-of-bounds": BOUNDS, "negative": BOUNDS,
    "uninitialised": UNWRITTEN, "unwritten": UNWRITTEN, "deadlock": DEADLOCK, "endless": DEADLOCK,
}  # fmt: skip
# Kinds of small changes that cases are made of; a change of plain arithmetic has no kind above.
OF_INDICES = {
    "comparison", "condition", "order of indices", "index", "one more or less", "x, y, z",
    "thread or block", "number", "name", "operator", "end of a loop", "beginning of a loop",
}  # fmt: skip
# What nobody writes: a name with itself, a division by nothing, a slot of a ring that is no name.
NONSENSE = re.compile(
    r"\b(\w+)( [-+%*/<>=!]+ )\1\b(?!\.)|[/%] [01]\b|(?:<<|>>|[-+]=?|[*<]) 0\b|\(-|--|[^/]/[^/]"
    r"|\[(\w+), \3\]"
)
BEGINNING = re.compile(r"^ *(\w+ = -?(float32\(|int32\(|\d)|\w+\[.*\] = )", re.MULTILINE)
OF_LINES = {"line too many", "order of lines", "in or out of a loop", "barrier"}
MEETINGS = "threadfence", "atomic.exch", "atomic.cas"


class Break(NamedTuple):
    """cause: what the text tells of its kind."""

    change: Change
    cause: str


def breaks(source: Source, rng: Random) -> list[Break]:
    """Many changes of a right file, each of one place: drawn by `rng`, of all lines in turn."""
    found: list[Break] = []
    for function in source.functions().values():
        found += changes(function, Scope(function, names_of_the_file(source)), source)
    before: Counter[int] = Counter()  # changes of a line, so that a long one is no likelier
    turns = []
    for one in rng.sample(found, len(found)):
        turns.append((before[one.change.line], one))
        before[one.change.line] += 1
    plain = rng.random() < 0.8  # slips first, and then what is a line more than enough
    turns.sort(key=lambda pair: (plain and pair[1].change.kind == "barrier", pair[0]))
    return [one for _, one in turns]


def broken_text(source: Source, one: Break) -> str | None:
    """The file with a change; None if it is no Python, or the same."""
    right = source.content.decode("utf-8")
    try:
        changed = ast.unparse(ast.parse(source.changed(one.change))) + "\n"
    except SyntaxError:
        return None
    head = right.split("\n\n", 1)[0]  # with the empty lines that the right one has
    text = head + "\n\n" + changed[len(head) :].lstrip("\n")
    return None if text == right else text


def changes(function: ast.FunctionDef, scope: Scope, source: Source) -> Iterator[Break]:
    """What may be changed in one function."""
    host = not function.decorator_list
    places, slots = index_places(function, scope, source)
    for _, change in of_expressions(scope, source):
        if change.kind not in OF_INDICES or change.new in ("True", "False", "pass", "break"):
            continue
        if host and change.kind == "name" and change.new[0].islower():
            continue  # an array as a number of blocks is nobody's slip
        start, end = (source.starts[change.line - 1], source.starts[change.line] - 1)
        line = source.between(start, change.start) + change.new + source.between(change.end, end)
        if len(NONSENSE.findall(line)) > len(NONSENSE.findall(source.between(start, end))):
            continue
        if host or is_in(change, places):
            yield Break(change, SHAPE if host else SLOT if is_in(change, slots) else INDEX)
    for _, change in of_statements(function, source):
        cause = cause_of_line(change, source, function)
        if cause:
            yield Break(change, cause)
    if not host:
        yield from without_guard(function, source)
        yield from fewer_digits(function, source)


def is_in(change: Change, places: list[tuple[int, int]]) -> bool:
    return any(start <= change.start and change.end <= end for start, end in places)


def cause_of_line(change: Change, source: Source, function: ast.FunctionDef) -> str:
    """The cause of a change of whole statements; "" for one that no case is made of."""
    old = source.between(change.start, change.end)
    host = not function.decorator_list
    if change.kind == "atomic addition" and "+=" in change.new and not host:
        return LOST
    if change.kind not in OF_LINES or "pass" in change.new.split():
        return ""
    if "\n" in old.strip() and not change.new.strip():
        return ""  # a whole block is missing: there would be nothing to look at
    if host:
        several = source.text_of(function).count("launch(") > 1
        return ORDER if "launch(" in old and several else ""
    if "syncthreads" in old + change.new:
        branches = any(isinstance(node, (ast.If, ast.While)) for node in ast.walk(function))
        return BARRIER if change.kind != "barrier" or branches else ""
    meets = any(word in old + change.new for word in MEETINGS)
    return STALE if BEGINNING.search(old) and not meets else MEETING


def index_places(
    function: ast.FunctionDef, scope: Scope, source: Source
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Where a text says which elements are meant: indices, bounds, and whole numbers for them.

    Then those of them that are the first index of an array with few slots: a ring, two buffers.
    """
    found: list[ast.expr] = []
    slots: list[ast.expr] = []
    few = re.findall(r"(\w+) = cuda\.shared\.array\(\(", source.text_of(function))
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript):
            found.append(node.slice)
            if isinstance(node.slice, ast.Tuple) and source.text_of(node.value) in few:
                slots.append(node.slice.elts[0])
        if isinstance(node, (ast.If, ast.While, ast.IfExp)):
            found.append(node.test)
        if isinstance(node, ast.For):
            found.append(node.iter)
        if isinstance(node, (ast.Assign, ast.AugAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and scope.kinds.get(target.id) == WHOLE:
                found.append(node.value)
    return [source.span(node) for node in found], [source.span(node) for node in slots]


def without_guard(function: ast.FunctionDef, source: Source) -> Iterator[Break]:
    """The statements of a condition without it."""
    for node in ast.walk(function):
        if isinstance(node, ast.If) and not node.orelse and len(node.body) < 9:
            if not isinstance(node.body[0], ast.Return):
                start, end = source.lines_of(node)
                inner = source.between(source.lines_of(node.body[0])[0], end).split("\n")
                new = "\n".join(line[4:] for line in inner)
                yield Break(Change(start, end, new, node.lineno, "condition", ""), INDEX)


def fewer_digits(function: ast.FunctionDef, source: Source) -> Iterator[Break]:
    """Sums and shared arrays of halves, fractions cut off, exponentials of large numbers."""
    text_of = source.text_of
    for node in ast.walk(function):
        place: ast.AST | None = None
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
            place = node if isinstance(node.target, ast.Name) else None
            new = f"{text_of(node.target)} + {text_of(node.value)}"
            new = f"{text_of(node.target)} = float32(np.float16({new}))"
        elif isinstance(node, ast.Call) and node.args:
            called, first, new = text_of(node.func), node.args[0], "np.float16"
            if called == "cuda.shared.array" and text_of(node.args[1]) == "float32":
                place = node.args[1]
            if called == "float32" and not isinstance(first, ast.Constant):
                place = node.func
            if called == "math.exp" and isinstance(first, ast.BinOp):
                place = first if isinstance(first.op, ast.Sub) else None
                new = text_of(first.left)
        if isinstance(place, (ast.expr, ast.stmt)):
            yield Break(source.change(place, new, "digits", ""), PRECISION)


# ---------------------------------------------------------------- what a run says of it


def kinds_of(ran: Ran, cause: str) -> tuple[str, ...]:
    """The kinds that a broken kernel may be said to be of, the first the best; () for none."""
    first = ran.findings[0] if ran.findings else None
    if ran.error or not ran.reports or ran.ok:
        return ()
    seen = OF_FINDING.get(first.kind, "none") if first else ""
    if seen == "none" or (seen == UNWRITTEN and first and not first.array):
        return ()  # what a compiler says, or a name without a value: no case
    if cause in (SHAPE, ORDER):
        return (cause, seen) if seen else (cause,)
    if seen == RACE:
        first_kinds = {BARRIER: (BARRIER, RACE), LOST: (LOST, RACE)}
        return first_kinds.get(cause, (RACE, INDEX) if cause in (INDEX, SLOT) else (RACE,))
    if seen in (BARRIER, DEADLOCK):
        return (seen, DEADLOCK if seen == BARRIER else BARRIER)
    if seen in (BOUNDS, UNWRITTEN):
        return (seen, INDEX) if cause in (INDEX, SLOT) else (seen,)
    if cause in (STALE, SLOT) or (cause == INDEX and leaves_garbage(ran)):
        return (UNWRITTEN, INDEX)
    return (cause,) if cause in (PRECISION, INDEX) else ()


def leaves_garbage(ran: Ran) -> bool:
    """Whether elements that should have been written hold what was there before."""
    for name, wrong in ran.wrong.items():
        output = ran.arguments[name]
        if isinstance(output, Output) and output.initial is None:
            if (output.array[wrong] == output.sentinel).any():
                return True
    return False


def changed_lines(right: str, wrong: str) -> set[int]:
    """Lines of the wrong text that are not as they should be; what is missing lies between two."""
    there: set[int] = set()
    between: set[int] = set()
    lines = wrong.splitlines()
    match = SequenceMatcher(None, right.splitlines(), lines, False)
    for kind, _, _, begin, end in match.get_opcodes():
        if kind == "delete":
            between |= {begin, min(begin + 1, len(lines))}
        elif kind != "equal":
            there |= {*range(begin + 1, end + 1)}
    return there | between | only_uses(wrong, there)


def only_uses(text: str, lines: set[int]) -> set[int]:
    """Lines that alone use a name which one of these lines alone sets: it may be mended there."""
    found: set[int] = set()
    for function in ast.parse(text).body:
        own: dict[tuple[str, type], list[int]] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Name):
                own.setdefault((node.id, type(node.ctx)), []).append(node.lineno)
        for (name, kind), at in own.items():
            uses = set(own.get((name, ast.Load), ()))
            if kind is ast.Store and len(at) == len(uses) == 1 and lines & {*at}:
                found |= uses
    return found
