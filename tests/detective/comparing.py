"""A program that solves cases by comparing: what comes of it says how good the disguise is.

    python -m tests.detective.comparing 25      cases per level; prints its rate beside guessing

It undoes what it can: names, the order of operands, comparisons, temporary names, constants, forms
of sums and of divisions. Each statement is then compared with those of the most similar function
of the course. It names the line that fits worst, or one that fits a known mistake better.
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
from lessons.detective.disguise import Inline
from lessons.detective.gather import Gathered, file_text
from lessons.detective.subjects import SUBJECTS

FLIPPED = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}
NEGATED = {ast.Lt: ast.GtE, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.GtE: ast.Lt,
           ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And}  # fmt: skip
GRID = re.compile(
    r"\(?cuda\.threadIdx\.(?P<a>\w) \+ cuda\.block(?:Dim|Idx)\.(?P=a) \* cuda\.block(?:Dim|Idx)\.(?P=a)\)?"
    r"|\(?cuda\.block(?:Dim|Idx)\.(?P<b>\w) \* cuda\.block(?:Dim|Idx)\.(?P=b) \+ cuda\.threadIdx\.(?P=b)\)?"
)
OURS = {"cuda", "float32", "float16", "int32", "int64", "math", "min", "max", "range", "np"}


def blind(node):
    """Text without names and numbers: for an order of operands that no name decides."""
    return re.sub(
        r"\b(?!cuda|shape)[a-zA-Z_]\w*\b", "N", re.sub(r"\b\d+\b", "C", ast.unparse(node))
    )


def negated(node):
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in NEGATED:
        return ast.Compare(node.left, [NEGATED[type(node.ops[0])]()], node.comparators)
    if isinstance(node, ast.BoolOp):
        return ast.BoolOp(NEGATED[type(node.op)](), [negated(one) for one in node.values])
    undone = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return node.operand if undone else ast.UnaryOp(ast.Not(), node)


class Plain(ast.NodeTransformer):
    """The same form for equal expressions, as far as that goes."""

    def __init__(self, values):
        self.values = values  # name -> what it stands for, if that is said once

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load) and node.id in self.values:
            value = self.values[node.id]
            return Plain({n: v for n, v in self.values.items() if n != node.id}).visit(
                copy.deepcopy(value)
            )
        return node

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        undone = negated(node.operand) if isinstance(node.op, ast.Not) else node
        return node if isinstance(undone, ast.UnaryOp) else self.visit(undone)

    def visit_Compare(self, node):
        self.generic_visit(node)
        if type(node.ops[0]) in FLIPPED:
            return ast.Compare(node.comparators[0], [FLIPPED[type(node.ops[0])]()], [node.left])
        return node

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        node.values.sort(key=blind)
        return node

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, ast.RShift) and isinstance(node.right, ast.Constant):
            node = ast.BinOp(node.left, ast.FloorDiv(), ast.Constant(2**node.right.value))
        if isinstance(node.op, ast.BitAnd) and isinstance(node.right, ast.Constant):
            node = ast.BinOp(node.left, ast.Mod(), ast.Constant(node.right.value + 1))
        sides = node.left, node.right
        if all(isinstance(side, ast.Constant) for side in sides):
            return ast.Constant(eval(ast.unparse(node)))
        if isinstance(node.op, (ast.Add, ast.Mult)):
            node.left, node.right = sorted(sides, key=blind)
        return node


def pairs_of(node):
    """(name, value) of an assignment, of several at once, of sizes and places in the grid, too."""
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Name):
        return [(target, value)]
    names = target.elts if isinstance(target, ast.Tuple) else []
    if isinstance(value, ast.Tuple):
        return list(zip(names, value.elts, strict=False))
    if isinstance(value, ast.Attribute) and value.attr == "shape":
        return [
            (n, ast.parse(f"{ast.unparse(value)}[{i}]").body[0].value) for i, n in enumerate(names)
        ]
    if ast.unparse(value).startswith("cuda.grid("):
        return [
            (n, ast.parse(f"cuda.grid.{x}").body[0].value)
            for n, x in zip(names, "xyz", strict=False)
        ]
    return []


def as_whiles(node):
    """The parts of a statement: of a `for` loop, what it is as a `while` loop."""
    if isinstance(node, ast.For) and ast.unparse(node.iter).startswith("range("):
        given = [ast.unparse(one) for one in node.iter.args]
        start, end, step = (["0", *given, "1"] if len(given) == 1 else [*given, "1"])[:3]
        i = ast.unparse(node.target)
        return ast.parse(f"{i} = {start}\n{i} < {end}\n{i} = {i} + {step}").body
    if isinstance(node, (ast.If, ast.While)):
        return [min(node.test, negated(copy.deepcopy(node.test)), key=blind)]
    if isinstance(node, (ast.Assign, ast.Expr)):
        return [node]
    if isinstance(node, ast.AugAssign):
        return [ast.Assign([node.target], ast.BinOp(node.target, node.op, node.value), lineno=0)]
    return [node.value] if isinstance(node, ast.Return) and node.value else []


def statements(function, constants):
    """(line, text) of each statement and condition, with temporaries in their places."""
    stored = [
        n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    ]
    assigned, values = Counter(stored), dict(constants)
    for node in ast.walk(function):
        for name, value in pairs_of(node) if isinstance(node, ast.Assign) else ():
            pure = not re.search(r"shared|local|atomic|shfl", ast.unparse(value))
            if isinstance(name, ast.Name) and assigned[name.id] == 1 and pure:
                values[name.id] = value
    found = []
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and all(
            ast.unparse(n) in values for n, _ in pairs_of(node)
        ):
            if pairs_of(node):
                continue
        for part in as_whiles(node):
            text = ast.unparse(Plain(values).visit(copy.deepcopy(part)))
            text = GRID.sub(
                lambda m: f"cuda.grid.{m['a'] or m['b']}",
                text.replace("cuda.grid(1)", "cuda.grid.x"),
            )
            found.append((node.lineno, re.sub(r"^range|^\(|\)$", "", text)))
    return found


def functions_of(text):
    tree = ast.parse(text)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    constants = {
        ast.unparse(node.targets[0]): node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
    }
    for name, function in functions.items():
        body = [
            one
            for one in function.body
            if not isinstance(one, ast.Expr) or "cuda" in ast.unparse(one)
        ]
        if len(body) == 1 and isinstance(body[0], ast.Return) and function.decorator_list:
            function.body = body
            for other in functions.values():
                Inline(name, function).visit(other)
    for name, function in functions.items():
        yield name, statements(function, constants)


@functools.cache
def known_functions():
    """Those of the course that cases are made of, with what they import."""
    files = [Gathered(one.module, one.launch, {}, {}) for one in SUBJECTS.values()]
    texts = [file_text(file.constants, file.functions) for file in files]
    return [found for text in texts for _, found in functions_of(text) if found]


@functools.cache
def known_mistakes():
    """Lines that are wrong somewhere, without their names."""
    added = [line[1:] for lesson in lessons() for entry in entries(lesson) if entry.kind == "wrong"
             for part in entry.patch for line in part.lines if line[0] == "+"]  # fmt: skip
    return {re.sub(r"\b[a-z_]\w*\b", "N", line.strip()) for line in added}


def tokens(text, names):
    words = re.findall(r"\w+|\S", text)
    number = re.compile(r"\d\d+$|[A-Z][A-Z_]+$|[2-9]$")
    return [names.get(word, "C" if number.match(word) else word) for word in words]


def shape(text):
    return tuple(
        "N" if re.match(r"[a-z_]\w*$", word) and word not in OURS else word
        for word in tokens(text, {})
    )


def names_by_vote(ours, theirs):
    """What each of our names is called there, by statements of the same shape."""
    votes = {}
    for _, one in ours:
        for _, other in theirs:
            if shape(one) == shape(other):
                for a, b in zip(tokens(one, {}), tokens(other, {}), strict=True):
                    votes.setdefault(a, Counter())[b] += 1
    return {name: counted.most_common(1)[0][0] for name, counted in votes.items()}


def suspicions(case):
    """(how well it fits, line) of each line of a case's text."""
    found = []
    for _, ours in functions_of(case.wrong):
        if not ours:
            continue
        shapes = Counter(shape(one) for _, one in ours)
        best = max(
            known_functions(),
            key=lambda theirs: (
                sum((Counter(shape(one) for _, one in theirs) & shapes).values())
                - 0.1 * abs(len(theirs) - len(ours))
            ),
        )
        names = names_by_vote(ours, best)
        for line, one in ours:
            mine = tokens(one, names)
            fit = max(SequenceMatcher(None, mine, tokens(o, {}), False).ratio() for _, o in best)
            text = case.wrong.splitlines()[line - 1].strip()
            if fit < 1 and re.sub(r"\b[a-z_]\w*\b", "N", text) in known_mistakes():
                fit -= 0.3
            found.append((fit, line))
    return found


def rates(levels, seeds):
    """(share of right lines, share of a guess) over cases."""
    right = guess = count = 0
    for level in levels:
        for seed in range(seeds):
            case = make_case(f"comparing {seed}", None, level)
            found = suspicions(case)
            count += 1
            right += min(found)[1] in case.lines
            lines = {line for _, line in found}
            guess += len(case.lines & lines) / len(lines)
    return right / count, guess / count


if __name__ == "__main__":
    for level in map(int, sys.argv[2:] or "1234"):
        named, guessed = rates([level], int(sys.argv[1]))
        print(f"level {level}: by comparing {named:.0%}, by guessing {guessed:.0%}")
