"""Changes that other lines of a function make likely, and slips that have a shape of their own.

row = y * stride + ky - padding
column = x * stride + kx + padding        # as the line above: - padding

Each is one of a few, where a name or a number in any place is one of hundreds. So they come first.
"""

import ast
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise, permutations

from lessons.grading.explain.repairs.beside import WORDS
from lessons.mutations.changes import Ranked, names_of_the_file, together
from lessons.mutations.expressions import indices_of
from lessons.mutations.scope import (
    ARRAY,
    WHOLE,
    Scope,
    called_name,
    distance,
    names_in,
    pairs_of,
)
from lessons.mutations.source import Change, Source
from lessons.mutations.statements import changed_name

KIND = "as elsewhere"
AXES = (
    "y x", "row column", "row col", "rows columns", "rows cols", "height width", "h w", "v u",
    "top left", "bottom right", "down across", "upper left",
)  # fmt: skip
REACH = 8  # lines from one to the other
MOST_APART = 0.6  # of the words of two such lines
IN_BOTH = 2  # ranks that a change gains if it is made for both axes of a line
FEW = ("term", "factor", "number", "sign", "operator", "parentheses")  # one more rank
NO_MODEL = ("float32", "int32", "int64", "uint32", "uint64", "range", "min", "max", "int", "abs")
STEPS = "BLOCK_THREADS", "cuda.blockDim.x"
PLACES = (ast.Tuple, ast.Subscript, ast.Call, ast.Compare)  # where indices and arguments stand
OF_A_BLOCK = re.compile(r"blockIdx|^\w+ - \w+$")  # the first of its own, or i - threadIdx.x
OUTSIDE = re.compile(
    r"line (\d+): out-of-bounds: (?:in \w+ \([^)]*\): )?(\w+)\[[^]]*\] is outside its shape "
    r"\([\d, ]*\): (?:axis (\d+) has|index -\d+ of axis (\d+))"
)


def likely_changes(function: ast.FunctionDef, source: Source, told: str) -> Iterator[Ranked]:
    """(rank, change): what is tried first. told: the message of the failed check."""
    text = Text(function, source)
    for rank, propose in LIKELY:
        sooner = 2 * (propose is everywhere_in_a_line and bool(OUTSIDE.search(told)))
        yield from ((rank - sooner, change) for change in propose(text))
    yield from ((-4, change) for change in guards_of_findings(text, told))


class Text:
    """A function, what stands around each of its nodes, and the names that it knows.

    other: name -> that for the other axis. values: name -> the text that it is given.
    """

    def __init__(self, function: ast.FunctionDef, source: Source) -> None:
        self.source, self.scope = source, Scope(function, set())
        self.nodes = [node for part in function.body for node in ast.walk(part)]
        self.around = {
            id(inner): node for node in self.nodes for inner in ast.iter_child_nodes(node)
        }
        known = {node.id for node in self.nodes if isinstance(node, ast.Name)}
        self.other = {name: other_axis(name, known) for name in known}
        self.pairs = [pair for node in self.all(ast.Assign) for pair in pairs_of(node)]
        self.values = {self.of(name): self.of(value) for name, value in self.pairs}

    def of(self, node: ast.expr | ast.stmt) -> str:
        return self.source.text_of(node)

    def all(self, *kinds: type) -> list:
        return [node for node in self.nodes if isinstance(node, kinds)]

    def read(self) -> list[ast.Name]:
        return [node for node in self.all(ast.Name) if isinstance(node.ctx, ast.Load)]

    def turned(self, words: str) -> str:
        """An expression for the other axis."""
        return re.sub(r"[A-Za-z_]\w*", lambda word: self.other.get(word[0], word[0]), words)

    def change(self, node: ast.expr, new: str, words: str) -> Iterator[Change]:
        """Another text for a node, if each name in it has a value before."""
        names = set(re.findall(r"[A-Za-z_]\w*", new)) - set(names_in(node))
        if all(self.scope.known.get(name, 0) < node.lineno for name in names):
            yield self.source.change(node, new, KIND, words)


Part = ast.Call | ast.Subscript | ast.Compare


def head_of(node: Part) -> str:
    if isinstance(node, ast.Compare):
        return ast.unparse(node.left)
    return ast.unparse(node.func if isinstance(node, ast.Call) else node.value)


def parts_of(node: Part) -> list[ast.expr]:
    if isinstance(node, ast.Compare):
        return node.comparators
    return node.args if isinstance(node, ast.Call) else indices_of(node)


# ---------------------------------------------------------------- two axes


def as_the_other_axis(text: Text) -> Iterator[Change]:
    """One expression each, with that of the other axis for a model."""
    for model, value in permutations(values_in(text), 2):
        name, mine, array = value
        if abs(model[1].lineno - mine.lineno) > REACH or model[2] != array:
            continue
        words, own = WORDS.findall(text.of(model[1])), WORDS.findall(text.of(mine))
        turned = turned_words(model[1], mine, text)
        new = with_operators_of(words, own) if len(words) == len(own) else own
        if new == own and (
            name == text.turned(model[0]) if name else {*turned} - {*words} <= {*own}
        ):
            new = turned
        if new not in (own, words) and (name or {*turned} - {*words}):
            told = f"with the expression made as that of line {model[1].lineno}"
            yield from text.change(mine, f"({' '.join(new)})", told)


def values_in(text: Text) -> list[tuple[str, ast.expr, int]]:
    """(name, what it is given, 0); or ("", an index, the number of all those of that array)."""
    values: list[tuple[str, ast.expr, int]]
    values = [(text.of(a), b, 0) for a, b in text.pairs if isinstance(b, ast.BinOp)]
    for node in text.all(ast.Subscript):
        values += [("", one, id(node)) for one in indices_of(node)]
    return values


def turned_words(model: ast.expr, mine: ast.expr, text: Text) -> list[str]:
    """The words of a model for the other axis; what is an element of an array there, as in mine."""
    elements = [[one for one in ast.walk(node) if isinstance(one, ast.Subscript)]
                for node in (model, mine)]  # fmt: skip
    own = {head_of(one): text.of(one) for one in elements[1]}
    words = text.of(model)
    for node in elements[0]:
        words = words.replace(text.of(node), own.get(head_of(node), text.of(node)))
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
    source = text.source
    for rank, change in found:
        old = source.between(change.start, change.end)
        if "\n" in old + change.new or (turned := text.turned(old)) == old:
            continue
        new = text.turned(change.new)
        if new == change.new in text.other:
            continue
        behind = source.between(change.end, source.starts[change.line])
        place = re.search(rf"(?<![\w.]){re.escape(turned)}(?!\w)", behind)
        if place:
            begin = change.end + len(behind[: place.start()].encode())
            other = change._replace(start=begin, end=begin + len(turned.encode()), new=new)
            both = together([change, other], source)
            words = f"{change.words}, and the same for the other axis"
            easy = change.words.startswith("without `")
            gain = IN_BOTH + (change.kind in FEW) + easy
            yield max(rank - gain, min(rank, -1 - easy)), both._replace(words=words)


# ---------------------------------------------------------------- as another line has it


def as_in_another_call(text: Text) -> Iterator[Change]:
    """An argument, or an index, as another call of the same function, or the same array, has it.

    All indices as another array has them, if it has one of these.
    """
    for one, other in permutations(text.all(ast.Call, ast.Subscript, ast.Compare), 2):
        parts, models = parts_of(one), parts_of(other)
        mine, theirs = list(map(text.of, parts)), list(map(text.of, models))
        line = other.lineno
        if type(one) is not type(other) or len(mine) != len(theirs) or mine == theirs:
            continue
        if head_of(one) == head_of(other) and head_of(one) not in NO_MODEL:
            for part, new in zip(parts, theirs, strict=True):
                if text.of(part) != new:
                    yield from text.change(part, new, f"with this as line {line} has it")
        elif isinstance(one, ast.Subscript) and {*mine} & {*theirs} and len(mine) > 1:
            told = f"with the indices that `{head_of(other)}` has in line {line}"
            yield from text.change(one.slice, ", ".join(theirs), told)


def as_a_sum_elsewhere(text: Text) -> Iterator[Change]:
    """An index or argument that is one side of a sum, or a product, which stands elsewhere."""
    sums = {text.of(node): node for node in text.all(ast.BinOp)
            if isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv))}  # fmt: skip
    for node in text.read():
        for new, model in sums.items() if isinstance(text.around[id(node)], PLACES) else ():
            if node.id in map(text.of, (model.left, model.right)) and model.lineno != node.lineno:
                words = f"with the sum of line {model.lineno} in place of `{node.id}`"
                yield from text.change(node, f"({new})", words)


def index_for_a_number(text: Text) -> Iterator[Change]:
    """A name in place of a number, in an index or an argument."""
    for node in text.all(ast.Constant):
        holder = text.around[id(node)]
        shape = isinstance(getattr(holder, "value", None), ast.Attribute)
        call = isinstance(holder, ast.Call) and head_of(holder) in NO_MODEL
        for name in text.scope.known if isinstance(node.value, int) and not (shape or call) else ():
            if isinstance(holder, PLACES) and text.scope.kinds.get(name) == WHOLE:
                yield from text.change(node, name, f"with a name in place of `{node.value}`")


def made_of_it(text: Text) -> Iterator[Change]:
    """A name for that which is made of it, as row = down // stride is; or the other way."""
    made = {
        (text.of(name), one): name.lineno
        for name, value in text.pairs
        for one in names_in(value) if isinstance(name, ast.Name)
        if text.scope.known.get(one) and text.scope.kinds.get(one) != ARRAY
    }  # fmt: skip
    for node in text.read():
        near = (pair for pair, line in made.items() if abs(node.lineno - line) <= REACH)
        for one, other in (order for pair in near for order in permutations(pair)):
            if node.id == one != other:
                words = f"with another name in place of `{one}`, which belongs to it"
                yield from text.change(node, other, words)


def everywhere_in_a_line(text: Text) -> Iterator[Change]:
    """A constant that is easily taken for another one, or the array whose sizes are asked for."""
    constants = {name for name in names_of_the_file(text.source) if name.isupper()}
    arrays = {name for name, line in text.scope.known.items()
              if not line and text.scope.kinds.get(name) == ARRAY}  # fmt: skip
    for line, name in dict.fromkeys((node.lineno, node.id) for node in text.read()):
        start, end = text.source.starts[line - 1 : line + 1]
        old = text.source.between(start, end)
        sized = arrays if re.search(rf"\b{name}\.(shape|size)\b", old) else set()
        same = constants if name in constants else sized
        for other in sorted(same - {name}):
            if (
                same is arrays
                or not distance(name, other)
                or {*name.split("_")} & {*other.split("_")}
            ):
                words = f"with another name in place of `{name}`"
                yield Change(start, end, re.sub(rf"\b{name}\b", other, old), line, KIND, words)


# ---------------------------------------------------------------- slips with a shape of their own


def steps_and_ends(text: Text) -> Iterator[Change]:
    """A loop that goes on by all threads; the last round of a loop in steps; a block's first."""
    words = "with a step of as many as there are threads"
    for loop in text.all(ast.For):
        bounds = parts_of(loop.iter) if called_name(loop.iter) == "range" else []
        texts = list(map(text.of, bounds))
        for step in STEPS if len(bounds) > 1 and is_of_a_thread(texts[0], text) else ():
            yield from text.change(loop.iter, f"range({', '.join([*texts[:2], step])})", words)
        for node in text.read() if len(bounds) == 3 else ():
            if node.id == texts[2] and loop.lineno < node.lineno <= (loop.end_lineno or 0):
                new = f"min({texts[2]}, {texts[1]} - {text.of(loop.target)})"
                yield from text.change(node, new, "with what is left in the last round")
    for node in text.all(ast.AugAssign):
        for step in STEPS if is_of_a_thread(text.of(node.target), text) else ():
            yield from text.change(node.value, step, words)
    for node in text.all(ast.Attribute):
        holder = text.around[id(node)]
        times = isinstance(holder, ast.BinOp) and not isinstance(holder.op, (ast.Add, ast.Sub))
        if re.fullmatch(r"cuda\.blockIdx\.[xyz]", text.of(node)) and not times:
            new = f"({text.of(node)} * cuda.blockDim.{node.attr})"
            yield from text.change(node, new, "with the first thread of the block")


def one_more(text: Text) -> Iterator[Change]:
    """A whole number that is one more or less, or lacks the number of a loop around it."""
    for name, value in text.pairs:
        old, node = text.of(value), text.around.get(id(value))
        known = text.scope.kinds.get(text.of(name), WHOLE if "cuda." in old else "")
        if isinstance(value, ast.Constant) or known != WHOLE:
            continue
        for sign in "+-":
            words = f"with one more or less at `{old}`"
            yield from text.change(value, f"({old} {sign} 1)", words)
        while node is not None:
            if isinstance(node, ast.For) and {text.of(node.target)}.isdisjoint(names_in(value)):
                words = f"with the number of the loop of line {node.lineno} added"
                yield from text.change(value, f"({old} + {text.of(node.target)})", words)
            node = text.around.get(id(node))


def is_of_a_thread(name: str, text: Text) -> bool:
    """Whether an expression is made of the number of a thread in its block alone."""
    values = [text.values.get(word, word) for word in WORDS.findall(text.values.get(name, name))]
    return "threadIdx" in "".join(values) and "blockIdx" not in "".join(values)


def arguments_by_their_names(text: Text) -> Iterator[Change]:
    """The arguments of a function of this file, where the names of its parameters belong."""
    functions = text.source.functions()
    for call in text.all(ast.Call):
        function = functions.get(called_name(call))
        names = [one.arg for one in function.args.args] if function else []
        mine = list(map(text.of, call.args))
        if len(mine) != len(names) or not {*mine} & {*names}:
            continue
        others = iter([one for one in mine if one not in names])
        new = [name if name in mine else next(others, name) for name in names]
        if sorted(new) == sorted(mine) and new != mine:
            words = f"with the arguments of `{called_name(call)}` in another order"
            yield from text.change(call, f"{text.of(call.func)}({', '.join(new)})", words)


def twice_the_same(text: Text) -> Iterator[Change]:
    """Two lines that give one and the same to two names: an index that was to go on by one."""
    for (one, first), (other, second) in pairwise(text.pairs):
        old = text.of(second)
        if text.of(one) == text.of(other) or old != text.of(first) or "[" not in old:
            continue
        words = f"with something else than what line {first.lineno} has already"
        for value in (second, first):
            inner = [node for node in ast.walk(value) if isinstance(node, ast.Subscript)]
            for part in (part for node in inner for part in indices_of(node)):
                for sign in "+-":
                    yield from text.change(part, f"({text.of(part)} {sign} 1)", words)


def with_its_first(text: Text) -> Iterator[Change]:
    """An index, or a whole number, to which the first one of its block or tile is not added."""
    steps = [loop for loop in text.all(ast.For) if len(getattr(loop.iter, "args", ())) == 3]
    firsts = {text.of(loop.target) for loop in steps}
    firsts |= {name for name, value in text.values.items() if OF_A_BLOCK.search(value)}
    given = [node for node in text.all(ast.Subscript) if text.scope.known.get(head_of(node)) == 0]
    whole = [value for name, value in text.pairs if text.scope.kinds.get(text.of(name)) == WHOLE]
    for place in (*whole, *(part for node in given for part in indices_of(node))):
        names = {*names_in(place)}
        for first in sorted(firsts - names) if names else ():
            told = f"with `{first}` added to `{text.of(place)}`"
            yield from text.change(place, f"({first} + {text.of(place)})", told)


def of_the_same_names(text: Text) -> Iterator[Change]:
    """What is made of some names, as another line makes it: x + i * SIDE, and not x * 4 + i."""
    made: dict[frozenset[str], dict[str, ast.BinOp]] = {}
    for node in text.all(ast.BinOp):
        for words in (text.of(node), *two_terms_of(node, text)):
            names = frozenset(
                one for one in re.findall(r"[A-Za-z_]\w*", words) if not one.isupper()
            )
            if len(names) > 1 and "[" not in words:
                made.setdefault(names, {}).setdefault(words, node)
    for ways in made.values():
        for (old, node), (new, model) in permutations(ways.items(), 2):
            if old == text.of(node) and old not in new and new not in old:
                told = f"with the expression that line {model.lineno} has of the same names"
                yield from text.change(node, f"({new})", told)


def two_terms_of(node: ast.BinOp, text: Text) -> Iterator[str]:
    """The sum of the last term and one before it, of a sum of three."""
    inner = node.left
    if isinstance(inner, ast.BinOp) and type(inner.op) is type(node.op) is ast.Add:
        for term in (inner.left, inner.right):
            yield f"{text.of(term)} + {text.of(node.right)}"


def signs_exchanged(text: Text) -> Iterator[Change]:
    """a + b - c as a - b + c."""
    signs: dict[type, str] = {ast.Add: "+", ast.Sub: "-"}
    for node in text.all(ast.BinOp):
        inner = node.left
        mine, other = (signs.get(type(getattr(one, "op", None)), "") for one in (node, inner))
        if mine + other in ("+-", "-+"):
            sides = map(text.source.part, (inner.left, inner.right, node.right))
            new = "({} {mine} {} {other} {})".format(*sides, mine=mine, other=other)
            yield from text.change(node, new, "with the two signs exchanged")


def half_missing(text: Text) -> Iterator[Change]:
    """As a pixel's centre has it."""
    for _, value in text.pairs:
        for sign in "-+" if "float32(" in (old := text.of(value)) else "":
            words = f"with a half at `{old}`, as for a centre"
            yield from text.change(value, f"({old} {sign} float32(0.5))", words)


def not_divided(text: Text) -> Iterator[Change]:
    for node in text.all(ast.BinOp):
        if isinstance(node.op, ast.FloorDiv | ast.Mod):
            words = f"with `{text.of(node.left)}` alone"
            yield from text.change(node, f"({text.of(node.left)})", words)


def best_not_kept(text: Text) -> Iterator[Change]:
    """`if a < best:` that does not store a as the best."""
    for node in text.all(ast.If):
        names = {changed_name(one) for one in node.body}
        sides = (
            [node.test.left, *node.test.comparators] if isinstance(node.test, ast.Compare) else []
        )
        for kept, new in permutations(sides, 2) if all(names & {*text.values}) else ():
            if text.of(kept) in {*text.values} - names:
                first, start = node.body[0], text.source.span(node.body[0])[0]
                line = f"{text.of(kept)} = {text.of(new)}\n{' ' * first.col_offset}"
                words = f"with `{text.of(kept)}` kept in there, too"
                yield Change(start, start, line, node.lineno, KIND, words)


def not_moved_on(text: Text) -> Iterator[Change]:
    """An index that stays the same in a loop, and which the loop's number has to be added to."""
    for loop in text.all(ast.For):
        inner = [one for part in loop.body for one in ast.walk(part)]
        changed = {one.id for one in inner if isinstance(getattr(one, "ctx", 0), ast.Store)
                   and isinstance(one, ast.Name)} | set(names_in(loop.target))  # fmt: skip
        for node in (part for one in inner if isinstance(one, ast.Subscript)
                     for part in indices_of(one)):  # fmt: skip
            if isinstance(node, ast.Name) and node.id not in changed:
                words = f"with an index that moves on in the loop in place of `{node.id}`"
                yield from text.change(node, f"({node.id} + {text.of(loop.target)})", words)


def guards_of_findings(text: Text, told: str) -> Iterator[Change]:
    """A condition on an index that a finding says is outside, or on all of its array's; a limit."""
    for line, array, *axes in OUTSIDE.findall(told):
        limits = re.findall(r"\b[A-Z]\w+", text.values.get(array, ""))
        for _, value in text.pairs:
            for limit in limits if isinstance(getattr(value, "op", 0), ast.Sub) else ():
                words = "with a minimum, which keeps it within what there is room for"
                yield from text.change(value, f"min({text.of(value)}, {limit})", words)
        for node in text.all(ast.Subscript):
            if node.lineno == int(line) and head_of(node) == array:
                bounds = [f"0 <= {text.of(part)} < {array}.shape[{axis}]"
                          for axis, part in enumerate(indices_of(node))]  # fmt: skip
                axis = int(axes[0] or axes[1])
                for inside in (bounds[axis], " and ".join(bounds)) if axis < len(bounds) else ():
                    yield from guarded(node, inside, text.of(indices_of(node)[axis]), text)


def guarded(node: ast.Subscript, inside: str, index: str, text: Text) -> Iterator[Change]:
    """In the `if` around it that speaks of the index, else in the innermost one, or at itself."""
    words, outer, around = f"with a guard on `{index}`", text.around.get(id(node)), []
    while outer is not None:
        around += [outer] if isinstance(outer, ast.If) else []
        outer = text.around.get(id(outer))
    around.sort(key=lambda one: {index}.isdisjoint(names_in(one.test)))
    for one in around[:1]:
        yield from text.change(one.test, f"{inside} and ({text.of(one.test)})", words)
    if isinstance(node.ctx, ast.Load):
        new = f"({text.of(node)} if {inside} else float32(0))"
        yield from text.change(node, new, words)
    elif isinstance(holder := text.around[id(node)], ast.stmt):
        new = f"if {inside}: {text.of(holder)}"
        yield text.source.change(holder, new, KIND, words)


LIKELY: tuple[tuple[int, Callable[[Text], Iterator[Change]]], ...] = (
    (-2, as_the_other_axis), (-2, as_in_another_call), (-1, as_a_sum_elsewhere),
    (0, index_for_a_number), (0, made_of_it), (-1, everywhere_in_a_line),
    (-3, steps_and_ends), (-2, best_not_kept), (-2, not_moved_on), (-2, one_more),
    (-5, arguments_by_their_names), (-5, twice_the_same), (-3, with_its_first),
    (-3, of_the_same_names), (-1, signs_exchanged), (-2, half_missing), (-2, not_divided),
)  # fmt: skip
