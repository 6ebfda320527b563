"""Changes that other lines of a function make likely, and slips that have a shape of their own.

row = y * stride + ky - padding
column = x * stride + kx + padding        # as the line above: - padding

Each is one of a few, where a name or a number in any place is one of hundreds. So they come first.
"""

import ast
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import permutations

from lessons.grading.explain.repairs.beside import WORDS
from lessons.mutations.changes import Ranked, names_of_the_file, together
from lessons.mutations.scope import CLOSE, WHOLE, Scope, called_name, distance, pairs_of
from lessons.mutations.source import Change, Source
from lessons.mutations.statements import LOOPS, SIMPLE, changed_name, shifted

KIND = "as elsewhere"
AXES = (
    "y x", "row column", "row col", "rows columns", "rows cols", "height width", "h w", "v u",
    "top left", "bottom right", "down across", "upper left",
)  # fmt: skip
REACH = 8  # lines from one to the other
FEW = ("term", "factor", "number", "sign", "operator", "parentheses")
IN_BOTH = 2  # ranks that a change gains if it is made for both axes of a line
MOST_APART = 0.6  # of the words of two such lines
CASTS = ("float32", "int32", "int64", "uint32", "uint64", "range", "min", "max", "int", "abs")
OUTSIDE = re.compile(
    r"line (\d+): out-of-bounds: (?:in \w+ \([^)]*\): )?(\w+)\[[^]]*\] is outside its shape "
    r"\([\d, ]*\): (?:axis (\d+) has|index -\d+ of axis (\d+))"
)
Proposal = tuple[int, Change]


def likely_changes(function: ast.FunctionDef, source: Source, told: str) -> Iterator[Proposal]:
    """(rank, change): what is tried first. told: the message of the failed check."""
    text = Text(function, source)
    for rank, propose in LIKELY:
        yield from ((rank, change) for change in propose(text))
    yield from ((-4, change) for change in guards_of_findings(text, told))


class Text:
    """A function, what stands around each of its nodes, and the names that it knows."""

    def __init__(self, function: ast.FunctionDef, source: Source) -> None:
        self.function, self.source = function, source
        self.nodes = [node for part in function.body for node in ast.walk(part)]
        self.around = {
            id(inner): node for node in ast.walk(function) for inner in ast.iter_child_nodes(node)
        }
        self.known = {node.id for node in self.nodes if isinstance(node, ast.Name)}
        self.stored = {node.id for node in self.nodes if is_stored(node)}
        self.scope = Scope(function, set())
        pairs = (pair for node in self.all(ast.Assign) for pair in pairs_of(node))
        self.values = {self.of(name): self.of(value) for name, value in pairs}
        self.other = {name: other_axis(name, self.known) for name in self.known}

    def of(self, node: ast.AST) -> str:
        return self.source.text_of(node)  # type: ignore[arg-type]

    def all(self, *kinds: type) -> list:
        return [node for node in self.nodes if isinstance(node, kinds)]

    def outwards(self, node: ast.AST) -> Iterator[ast.AST]:
        while (node := self.around.get(id(node), self.function)) is not self.function:
            yield node

    def turned(self, words: str) -> str:
        """An expression for the other axis."""
        return re.sub(r"[A-Za-z_]\w*", lambda word: self.other.get(word[0], word[0]), words)

    def change(self, node: ast.expr | ast.stmt, new: str, words: str) -> Change:
        return self.source.change(node, new, KIND, words)


def is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def names_read(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and not is_stored(one)}


# ---------------------------------------------------------------- two axes


def as_the_other_axis(text: Text) -> Iterator[Change]:
    """Changes of one expression each, with that of the other axis for a model."""
    for model, value in permutations(values_in(text), 2):
        if abs(model[1].lineno - value[1].lineno) > REACH or model[2] != value[2]:
            continue
        words, mine = (WORDS.findall(text.of(one[1])) for one in (model, value))
        turned = turned_words(model[1], value[1], text)
        new = turned
        if len(words) == len(mine):
            new = with_operators_of(words, mine)
        elif value[0] and value[0] != text.turned(model[0]):
            continue
        elif not value[0] and not {*turned} - {*words} <= {*mine}:
            continue
        if new not in (mine, words) and (value[0] or {*turned} - {*words}):
            told = f"with the expression made as that of line {model[1].lineno}"
            yield text.change(value[1], f"({' '.join(new)})", told)


def values_in(text: Text) -> list[tuple[str, ast.expr, int]]:
    """(name, what it is given, 0) of the assignments of a function, `a, b = c, d` one by one.

    Also ("", an index, its array's number) of arrays with several of them.
    """
    pairs = [pair for node in text.all(ast.Assign) for pair in pairs_of(node)]
    values = [(text.of(name), value, 0) for name, value in pairs if isinstance(value, ast.BinOp)]
    for node in text.all(ast.Tuple):
        if isinstance(text.around[id(node)], ast.Subscript):
            values += [("", one, id(node)) for one in node.elts]
    return values


def turned_words(model: ast.expr, mine: ast.expr, text: Text) -> list[str]:
    """The words of a model for the other axis; what is an element of an array there, as in mine."""
    own = {text.of(node.value): text.of(node) for node in ast.walk(mine)
           if isinstance(node, ast.Subscript)}  # fmt: skip
    words = text.of(model)
    for node in ast.walk(model):
        if isinstance(node, ast.Subscript):
            words = words.replace(text.of(node), own.get(text.of(node.value), text.of(node)))
    return WORDS.findall(text.turned(words))


def with_operators_of(model: list[str], mine: list[str]) -> list[str]:
    """My words, with the model's operators; as they are if the lines do not say the same."""
    apart = sum(a != b for a, b in zip(model, mine, strict=True))
    if apart > MOST_APART * len(mine):
        return mine
    pairs = zip(model, mine, strict=True)
    return [b if a[0].isalnum() or b[0].isalnum() else a for a, b in pairs]


def other_axis(word: str, known: Collection[str]) -> str:
    """The word for the other axis, if there is such a name."""
    for pair in AXES:
        for one, other in permutations(pair.split()):
            if word == one or (len(one) == 1 and one in word and len(word) < 4):
                new = word.replace(one, other)
                if new in known:
                    return new
            new = "_".join(other if part == one else part for part in word.split("_"))
            if new != word and new in known:
                return new
    return word


def in_both_axes(found: Sequence[Ranked], text: Text) -> Iterator[Ranked]:
    """Changes of what stands in one line for both axes, each together with that of the other axis.

    A line that says the same of both has no slip in one of them alone.
    """
    source, lines = text.source, {}
    for rank, change in found:
        old = source.between(change.start, change.end)
        turned, new = text.turned(old), text.turned(change.new)
        if turned == old or "\n" in turned + new:
            continue
        end = source.starts[change.line]
        behind = lines.setdefault((change.end, end), source.between(change.end, end))
        place = re.search(rf"(?<![\w.]){re.escape(turned)}(?!\w)", behind)
        if place:
            begin = change.end + len(behind[: place.start()].encode())
            other = change._replace(start=begin, end=begin + len(turned.encode()), new=new)
            both = together([change, other], source)
            words = f"{change.words}, and the same for the other axis"
            gain = IN_BOTH + (change.kind in FEW)
            yield max(rank - gain, min(rank, -1)), both._replace(words=words)


# ---------------------------------------------------------------- as another line has it


def as_in_another_call(text: Text) -> Iterator[Change]:
    """An argument, or an index, as another call of the same function, or the same array, has it."""
    for one, other in permutations(text.all(ast.Call, ast.Subscript), 2):
        mine, theirs = parts_of(one), parts_of(other)
        if len(mine) != len(theirs) or head_of(one) != head_of(other) or head_of(one) in CASTS:
            continue
        for part, model in zip(mine, theirs, strict=True):
            new = text.of(model)
            late = names_read(model) - {n for n in names_read(part)}
            if text.of(part) != new and not any(begins_below(name, part, text) for name in late):
                yield text.change(part, new, f"with this as line {model.lineno} has it")


def head_of(node: ast.Call | ast.Subscript) -> str:
    return ast.unparse(node.func if isinstance(node, ast.Call) else node.value)


def parts_of(node: ast.Call | ast.Subscript) -> list[ast.expr]:
    if isinstance(node, ast.Call):
        return node.args
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def begins_below(name: str, node: ast.expr, text: Text) -> bool:
    """Whether a name is given its first value in this line or in one below."""
    return text.scope.known.get(name, 0) >= node.lineno


def with_indices_of_another(text: Text) -> Iterator[Change]:
    """All indices of an array as another array has them."""
    for one, other in permutations(text.all(ast.Subscript), 2):
        same = ast.unparse(one.slice) == ast.unparse(other.slice) or head_of(one) == head_of(other)
        mine, theirs = (list(map(text.of, parts_of(node))) for node in (one, other))
        alike = len(mine) == len(theirs) and {*mine} & {*theirs}
        if alike and not same and isinstance(one.slice, ast.Tuple):
            late = names_read(other.slice) - names_read(one.slice)
            if not any(begins_below(name, one, text) for name in late):
                words = f"with the indices that `{head_of(other)}` has in line {other.lineno}"
                yield text.change(one.slice, ", ".join(theirs), words)


def as_a_sum_elsewhere(text: Text) -> Iterator[Change]:
    """An index that is one term of a sum, or factor of a product, which stands elsewhere."""
    sums = {text.of(node): node for node in text.all(ast.BinOp) if isinstance(node.op, SUMS)}
    for node in text.all(ast.Name):
        holder = text.around[id(node)]
        if is_stored(node) or not isinstance(holder, (ast.Tuple, ast.Subscript, ast.Call)):
            continue
        for new, model in sums.items():
            sides = [one.id for one in (model.left, model.right) if isinstance(one, ast.Name)]
            late = any(begins_below(name, node, text) for name in names_read(model) - {node.id})
            if node.id in sides and not late and model.lineno != node.lineno:
                words = f"with the sum of line {model.lineno} in place of `{node.id}`"
                yield text.change(node, f"({new})", words)


SUMS = (ast.Add, ast.Sub, ast.Mult)


def index_for_a_number(text: Text) -> Iterator[Change]:
    """A name in place of a number, in an index or an argument."""
    for node in text.all(ast.Constant):
        holder = text.around[id(node)]
        inner = holder.value if isinstance(holder, ast.Subscript) else None
        if not isinstance(node.value, int) or isinstance(inner, ast.Attribute):
            continue
        is_index = isinstance(holder, ast.Subscript) or (
            isinstance(holder, ast.Tuple) and isinstance(text.around[id(holder)], ast.Subscript)
        )
        is_given = isinstance(holder, ast.Call) and head_of(holder) not in CASTS
        for name, line in text.scope.known.items() if is_index or is_given else ():
            if line < node.lineno and text.scope.kinds.get(name) == WHOLE:
                yield text.change(node, name, f"with a name in place of `{node.value}`")


def name_of_a_block_or_all(text: Text) -> Iterator[Change]:
    """The number of a thread in its block for that in the grid, or the other way."""
    numbers = {
        name: "grid" if "cuda.grid" in value or "blockIdx" in value else "thread"
        for name, value in text.values.items()
        if re.search(r"cuda\.(grid\(1\)|threadIdx|blockIdx)", value)
    }
    for node in text.all(ast.Name):
        for other, kind in numbers.items() if node.id in numbers and not is_stored(node) else ():
            if kind != numbers[node.id] and not begins_below(other, node, text):
                words = "with the number in the other of block and grid in place of `{}`"
                yield text.change(node, other, words.format(node.id))


def made_of_it(text: Text) -> Iterator[Change]:
    """A name for that which is made of it, as row = down // stride is; or the other way."""
    pairs = [pair for node in text.all(ast.Assign) for pair in pairs_of(node)]
    made = {(name.id, one) for name, value in pairs if isinstance(name, ast.Name)
            for one in names_read(value) if one in text.stored}  # fmt: skip
    for node in text.all(ast.Name):
        for pair in made if not is_stored(node) else ():
            for one, other in permutations(pair):
                if node.id == one != other and not begins_below(other, node, text):
                    words = f"with another name in place of `{one}`, which belongs to it"
                    yield text.change(node, other, words)


# ---------------------------------------------------------------- slips with a shape of their own


def other_constants(text: Text) -> Iterator[Change]:
    """A constant that is easily taken for another one, everywhere in its line."""
    constants = {name for name in names_of_the_file(text.source) if name.isupper()}
    for line, name in dict.fromkeys((node.lineno, node.id) for node in text.all(ast.Name)):
        start, end = text.source.starts[line - 1 : line + 1]
        for other in sorted(constants - {name}) if name in constants else ():
            if distance(name, other) <= CLOSE:
                old = text.source.between(start, end)
                new = re.sub(rf"\b{name}\b", other, old)
                words = f"with another constant in place of `{name}`"
                yield Change(start, end, new, line, KIND, words)


def rounded_up_everywhere(text: Text) -> Iterator[Change]:
    """A number of blocks, rounds or groups that is rounded down."""
    counts = {name for node in text.all(ast.Call, ast.BinOp) for name in names_read(node)
              if called_name(node) == "range" or (isinstance(node, ast.BinOp)
              and isinstance(node.op, ast.FloorDiv) and name in names_read(node.right))}  # fmt: skip
    for node in text.all(ast.Assign, ast.Call):
        counted = isinstance(node, ast.Assign) and changed_name(node) in counts
        for part in ast.walk(node) if counted or called_name(node) == "range" else ():
            if isinstance(part, ast.BinOp) and isinstance(part.op, ast.FloorDiv):
                left, right = text.source.part(part.left), text.source.part(part.right)
                if f"{right} - 1" not in left:
                    new = f"(({left} + {right} - 1) // {right})"
                    yield text.change(part, new, "with a division that rounds up")


def steps_of_a_block(text: Text) -> Iterator[Change]:
    """A loop that begins at the number of a thread, and goes on by all threads of the block."""
    used = {text.of(node.args[2]) for node in text.all(ast.Call)
            if called_name(node) == "range" and len(node.args) == 3}  # fmt: skip
    for node in text.all(ast.Call):
        if called_name(node) == "range" and len(node.args) == 2:
            begin = text.of(node.args[0])
            if "threadIdx" in text.values.get(begin, begin):
                for step in dict.fromkeys(["BLOCK_THREADS", "cuda.blockDim.x", *used]):
                    new = f"range({begin}, {text.of(node.args[1])}, {step})"
                    yield text.change(node, new, "with a step of as many as there are threads")


def last_round(text: Text) -> Iterator[Change]:
    """What is left in the last round of a loop in steps, or a count, that is kept below a limit."""
    limits = sorted({name for node in text.all(ast.Call) if called_name(node) == "array"
                     for name in names_read(node) if name.isupper()})  # fmt: skip
    for loop in text.all(ast.For):
        call = loop.iter
        if called_name(call) == "range" and len(call.args) == 3:  # type: ignore[attr-defined]
            _, end, step = map(text.of, call.args)  # type: ignore[attr-defined]
            for node in (one for part in loop.body for one in ast.walk(part)):
                if isinstance(node, ast.Name) and node.id == step:
                    new = f"min({step}, {end} - {text.of(loop.target)})"
                    yield text.change(node, new, "with what is left in the last round")
    for node in text.all(ast.Assign):
        if isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.Sub):
            for limit in limits:
                words = "with a minimum, which keeps it within what there is room for"
                yield text.change(node.value, f"min({text.of(node.value)}, {limit})", words)


def best_not_kept(text: Text) -> Iterator[Change]:
    """`if a < best:` that does not store a as the best."""
    for node in text.all(ast.If):
        test = node.test
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            plain = all(isinstance(one, ast.Assign) and not isinstance(
                one.targets[0], ast.Subscript) for one in node.body)  # fmt: skip
            for kept, new in permutations((test.left, test.comparators[0])):
                stored = {changed_name(one) for one in node.body}
                if plain and isinstance(kept, ast.Name) and kept.id in text.stored - stored:
                    first = node.body[0]
                    line = f"{text.of(kept)} = {text.of(new)}\n{' ' * first.col_offset}"
                    words = f"with `{kept.id}` kept in there, too"
                    start = text.source.span(first)[0]
                    yield Change(start, start, line, node.lineno, KIND, words)


def begun_before_the_loop(text: Text) -> Iterator[Change]:
    """A sum that is begun within a loop, and read behind it."""
    for loop in text.all(*LOOPS):
        for line in loop.body:
            name = changed_name(line) if isinstance(line, ast.Assign) else ""
            added = [one for one in ast.walk(loop) if isinstance(one, ast.AugAssign)]
            if name and name in {changed_name(one) for one in added}:
                start, (begin, end) = text.source.lines_of(loop)[0], text.source.lines_of(line)
                moved = shifted(text.source.between(begin, end), loop.col_offset - line.col_offset)
                new = moved + text.source.between(start, begin)
                words = f"with this line before the loop of line {loop.lineno}"
                yield Change(start, end, new, line.lineno, KIND, words)


def not_moved_on(text: Text) -> Iterator[Change]:
    """An index that stays the same in a loop, and which the loop's number has to be added to."""
    for loop in text.all(ast.For):
        inner = [one for part in loop.body for one in ast.walk(part)]
        changed = {one.id for one in inner if is_stored(one)}  # type: ignore[attr-defined]
        for node in (one for one in inner if isinstance(one, ast.Subscript)):
            for part in parts_of(node):
                if isinstance(part, ast.Name) and part.id not in {*changed, text.of(loop.target)}:
                    new = f"({part.id} + {text.of(loop.target)})"
                    words = f"with an index that moves on in the loop in place of `{part.id}`"
                    yield text.change(part, new, words)


def conditions(text: Text) -> Iterator[Change]:
    """One more condition, as another line has it; and a place below the first one."""
    tests = {text.of(part): part for node in text.all(ast.If, ast.IfExp)
             for part in parts_of_test(node.test)}  # fmt: skip
    for part in tests.values():
        if isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.Lt) and not part.ops[1:]:
            words = "with a condition that keeps out what is below 0"
            yield text.change(part, f"0 <= {text.of(part)}", words)
    for node in text.all(ast.If, ast.IfExp):
        mine = {text.of(one) for one in parts_of_test(node.test)}
        for other, part in tests.items():
            for new in dict.fromkeys((other, other if ".shape" in other else text.turned(other))):
                if new not in mine and not isinstance(node.body[:1] if isinstance(
                        node.body, list) else 0, ast.Return):  # fmt: skip
                    told = f"with one more condition, as line {part.lineno} has it"
                    yield text.change(node.test, f"({text.of(node.test)}) and {new}", told)


def parts_of_test(test: ast.expr) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def guards_of_findings(text: Text, told: str) -> Iterator[Change]:
    """One more condition around an index that a finding says is outside."""
    for line, array, *axes in OUTSIDE.findall(told):
        axis = int(axes[0] or axes[1])
        for node in text.all(ast.Subscript):
            if node.lineno == int(line) and head_of(node) == array and len(parts_of(node)) > axis:
                index = text.of(parts_of(node)[axis])
                inside = f"0 <= {index} < {array}.shape[{axis}]"
                yield from guarded(node, inside, f"with a guard on `{index}`", text)


def guarded(node: ast.Subscript, inside: str, words: str, text: Text) -> Iterator[Change]:
    statement = next((one for one in text.outwards(node) if isinstance(one, ast.stmt)), None)
    for outer in text.outwards(node):
        if isinstance(outer, ast.If):
            yield text.change(outer.test, f"({text.of(outer.test)}) and {inside}", words)
            break
    if isinstance(node.ctx, ast.Load):
        yield text.change(node, f"({text.of(node)} if {inside} else float32(0))", words)
    if isinstance(statement, SIMPLE):
        start, end = text.source.lines_of(statement)
        margin = " " * statement.col_offset
        new = f"{margin}if {inside}:\n{shifted(text.source.between(start, end), 4)}"
        yield Change(start, end, new, statement.lineno, KIND, words)


LIKELY: tuple[tuple[int, Callable[[Text], Iterator[Change]]], ...] = (
    (-2, as_the_other_axis), (-2, as_in_another_call), (-1, with_indices_of_another),
    (-1, as_a_sum_elsewhere), (0, index_for_a_number), (-1, name_of_a_block_or_all),
    (-3, steps_of_a_block), (-2, last_round), (-2, best_not_kept), (-3, begun_before_the_loop),
    (-2, not_moved_on), (1, conditions), (-1, other_constants), (-2, rounded_up_everywhere),
    (1, made_of_it),
)  # fmt: skip
