"""A program that solves cases by comparing: what comes of it says how good the disguise is.

    python -m tests.detective.comparing 25      cases per level; prints its rate beside guessing

It undoes what it can: names, orders, temporary names, constants, forms of sums, loops, divisions,
guards of an index, short helpers. Each statement is then compared with those of the most similar
function of the course. It names the line that fits worst, or the one that fits best of those that
do not quite; a line that is like a known mistake is more suspicious.
"""

import ast
import copy
import functools
import re
import sys
from collections import Counter
from difflib import SequenceMatcher

from lessons.course.lesson import lessons
from lessons.course.mistakes import entries
from lessons.detective.cases import make_case
from lessons.detective.disguise import can_inline, expression, inline, negated, statements, text
from lessons.detective.gather import Each, Gathered, file_text
from lessons.detective.subjects import SUBJECTS

BLOCK = r"cuda\.block(?:Dim|Idx)\."
GRID = re.compile(
    rf"\(?(?:cuda\.threadIdx\.(?P<a>\w) \+ {BLOCK}(?P=a) \* {BLOCK}(?P=a)"
    rf"|{BLOCK}(?P<b>\w) \* {BLOCK}(?P=b) \+ cuda\.threadIdx\.(?P=b))\)?"
)
OURS = {"cuda", "float32", "float16", "int32", "int64", "math", "min", "max", "range", "np"}
NUMBER = re.compile(r"\d\d+$|[A-Z][A-Z_]+$|[2-9]$")
NAME = r"\b[a-z_]\w*\b"
FITS = 0.999


def blind(node):
    """Text without names and numbers: for an order of operands that no name decides."""
    return re.sub(r"\b(?!cuda|shape)[a-zA-Z_]\w*\b", "N", re.sub(r"\b\d+\b", "C", text(node)))


def plain(node, values):
    """The same form for equal expressions. values: name -> what it stands for, if once."""

    def change(node):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in values:
            others = {name: value for name, value in values.items() if name != node.id}
            return plain(copy.deepcopy(values[node.id]), others)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            undone = negated(node.operand)
            return node if isinstance(undone, ast.UnaryOp) else plain(undone, {})
        if isinstance(node, ast.Call) and text(node.func) in ("min", "max") and len(node.args) == 2:
            return node.args[0]  # a guard, whether it is needed or not
        if isinstance(node, ast.Compare) and type(node.ops[0]) in (ast.Gt, ast.GtE):
            flipped = ast.Lt() if isinstance(node.ops[0], ast.Gt) else ast.LtE()
            return ast.Compare(node.comparators[0], [flipped], [node.left])
        if isinstance(node, ast.BoolOp):
            node.values.sort(key=blind)
        if isinstance(node, ast.BinOp):
            value = getattr(node.right, "value", None)
            if isinstance(node.op, ast.RShift) and isinstance(value, int):
                node = ast.BinOp(node.left, ast.FloorDiv(), ast.Constant(2**value))
            if isinstance(node.op, ast.BitAnd) and isinstance(value, int):
                node = ast.BinOp(node.left, ast.Mod(), ast.Constant(value + 1))
            if all(isinstance(side, ast.Constant) for side in (node.left, node.right)):
                return ast.Constant(eval(text(node)))
            if isinstance(node.op, (ast.Add, ast.Mult)):
                node.left, node.right = sorted((node.left, node.right), key=blind)
        return node

    return Each(change).visit(node)


def pairs_of(node):
    """(name, value) of an assignment, of several at once, of sizes and places in the grid, too."""
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Name):
        return [(target, value)]
    values = getattr(value, "elts", [])
    if text(value).endswith(".shape"):
        values = [expression(f"{text(value)}[{axis}]") for axis in range(4)]
    if text(value).startswith("cuda.grid("):
        values = [expression(f"cuda.grid.{axis}") for axis in "xyz"]
    return list(zip(getattr(target, "elts", []), values, strict=False))


def as_whiles(node):
    """The parts of a statement: of a `for` loop, what it is as a `while` loop."""
    if isinstance(node, ast.For) and text(node.iter).startswith("range("):
        given = [text(one) for one in node.iter.args]
        start, end, step = ([*given, "1"] if len(given) > 1 else ["0", *given, "1"])[:3]
        i = text(node.target)
        return statements(f"{i} = {start}\n{i} < {end}\n{i} = {i} + {step}")
    if isinstance(node, (ast.If, ast.While)):
        return [min(node.test, negated(copy.deepcopy(node.test)), key=blind)]
    if isinstance(node, ast.AugAssign):
        return [ast.Assign([node.target], ast.BinOp(node.target, node.op, node.value), lineno=0)]
    if isinstance(node, ast.Return) and node.value:
        return [node.value]
    return [node] if isinstance(node, (ast.Assign, ast.Expr)) else []


def statements_of(function, constants):
    """(line, text) of each statement and condition, with temporaries in their places."""
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    stored = Counter(node.id for node in names if isinstance(node.ctx, ast.Store))
    values = dict(constants)
    assigns = [node for node in ast.walk(function) if isinstance(node, ast.Assign)]
    for name, value in (pair for node in assigns for pair in pairs_of(node)):
        if stored[text(name)] == 1 and not re.search("shared|local|atomic|shfl", text(value)):
            values[text(name)] = value
    for node in ast.walk(function):
        pairs = pairs_of(node) if isinstance(node, ast.Assign) else []
        if pairs and all(text(name) in values for name, _ in pairs):
            continue
        for part in as_whiles(node):
            line = text(plain(copy.deepcopy(part), values)).replace("cuda.grid(1)", "cuda.grid.x")
            yield node.lineno, GRID.sub(lambda m: f"cuda.grid.{m['a'] or m['b']}", line)


def functions_of(file):
    """The statements of each function of a file's text."""
    tree = ast.parse(file)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    assigns = [node for node in tree.body if isinstance(node, ast.Assign)]
    constants = {text(node.targets[0]): node.value for node in assigns}
    constants = {n: value for n, value in constants.items() if isinstance(value, ast.Constant)}
    for name, function in functions.items():
        if can_inline(function):
            for other in functions.values():
                inline(name, function, other)
    return [list(statements_of(function, constants)) for function in functions.values()]


@functools.cache
def known_functions():
    """Those of the course that cases are made of, with what they import."""
    files = [Gathered(one.module, one.launch, {}) for one in SUBJECTS.values()]
    texts = [file_text(file.constants, file.functions) for file in files]
    return [found for file in texts for found in functions_of(file) if found]


@functools.cache
def known_mistakes():
    """Lines that are wrong somewhere, without their names."""
    wrong = [entry for lesson in lessons() for entry in entries(lesson) if entry.kind == "wrong"]
    lines = [line for entry in wrong for part in entry.patch for line in part.lines]
    return {re.sub(NAME, "N", line[1:].strip()) for line in lines if line[0] == "+"}


def tokens(line, names):
    words = re.findall(r"\w+|\S", line)
    return [names.get(word, "C" if NUMBER.match(word) else word) for word in words]


def shape(line):
    words = tokens(line, {})
    return tuple("N" if re.match(NAME, one) and one not in OURS else one for one in words)


def suspicions(case):
    """How well each line of a case's text fits: line -> from 1, for as in the course, downwards."""
    found = {}
    for ours in filter(None, functions_of(case.wrong)):
        shapes = Counter(shape(one) for _, one in ours)

        def alike(theirs, shapes=shapes):
            common = (Counter(shape(one) for _, one in theirs) & shapes).total()
            return common - 0.1 * abs(len(theirs) - shapes.total())

        best = max(known_functions(), key=alike)
        votes = {}  # what our names are called there, by statements of the same shape
        for one, other in ((a, b) for _, a in ours for _, b in best if shape(a) == shape(b)):
            for mine, theirs in zip(tokens(one, {}), tokens(other, {}), strict=True):
                votes.setdefault(mine, Counter())[theirs] += 1
        names = {name: counted.most_common(1)[0][0] for name, counted in votes.items()}
        for line, one in ours:
            mine = tokens(one, names)
            fit = max(SequenceMatcher(None, mine, tokens(o, {}), False).ratio() for _, o in best)
            written = re.sub(NAME, "N", case.wrong.splitlines()[line - 1].strip())
            fit -= 0.3 * (fit < FITS and written in known_mistakes())
            found[line] = min(fit, found.get(line, 1.0))
    return found


def rates(levels, seeds):
    """Shares of cases in which the right line is named: (that fits worst, nearly fits, guessed)."""
    hits = [0.0, 0.0, 0.0]
    cases = [make_case(f"comparing {seed}", None, one) for one in levels for seed in range(seeds)]
    for case in cases:
        found = suspicions(case)
        nearly = {line: fit for line, fit in found.items() if fit < FITS} or found
        hits[0] += min(found, key=found.get) in case.lines
        hits[1] += max(nearly, key=nearly.get) in case.lines
        hits[2] += len(case.lines & set(found)) / len(found)
    return [hit / len(cases) for hit in hits]


if __name__ == "__main__":
    for level in (1, 2, 3, 4):
        worst, nearly, guessed = rates([level], int(sys.argv[1]))
        told = f"what fits worst {worst:.0%}, what nearly fits {nearly:.0%}, guessing {guessed:.0%}"
        print(f"level {level}: {told}", flush=True)
