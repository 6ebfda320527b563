"""Who reads an ordinary array too early, to which a copy is still under way?

An ordinary NumPy array tells nobody that it is read. So while such a copy is under way, and only
then, each line of the user's own files is looked at before it runs: does its text read the array?
Where the text does not tell, nothing is said.
"""

import ast
import functools
import linecache
import site
import sys
import sysconfig
from collections.abc import Iterator
from types import FrameType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from ..source import parts_of
from .host_array import HARMLESS, READING, WRITING, HostArray, Watcher
from .places import is_users

VIEWS = {"T", "reshape", "view", "ravel", "transpose", "squeeze", "real", "imag", "flat"}
EAGER_BUILTINS = (
    print, sum, max, min, list, tuple, float, int, complex, bool, str, repr, sorted, any, all, abs,
    set, round,
)  # fmt: skip
ASKING_NOBODY = (np.array, np.ascontiguousarray, np.asfortranarray, bytes, bytearray, memoryview)
NOT_READING = {*HARMLESS, np.asarray, np.asanyarray}
WAITS = {"synchronize", "copy_to_host", "wait", "query"}  # a line with one is not judged

NOT_THE_USERS = tuple(
    {sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), *site.getsitepackages()}
)

Tracer = Any  # what `sys.settrace` takes


class Use(NamedTuple):
    """An expression that a line reads or writes, if it is an array."""

    array: ast.expr
    writes: bool
    function: ast.expr | None = None  # that it is given to; None if no function decides
    into: ast.expr | None = None  # it is stored into this; into an array, its elements are copied


class ReadsOfOrdinaryArrays:
    """Looks at the user's lines while a copy to an ordinary array is under way."""

    def __init__(self, watcher: Watcher) -> None:
        self.watcher = watcher
        self.active = False

    def start(self) -> None:
        # A debugger, or what measures coverage, is there already: leave it alone.
        if self.active or sys.gettrace() is not None:
            return
        self.active = True
        sys.settrace(self.trace)
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if is_of_interest(frame):
                frame.f_trace = self.trace_line
            frame = frame.f_back

    def stop(self) -> None:
        if self.active:
            self.active = False
            sys.settrace(None)

    def trace(self, frame: FrameType, event: str, argument: object) -> Tracer:
        return self.trace_line if self.active and is_of_interest(frame) else None

    def trace_line(self, frame: FrameType, event: str, argument: object) -> Tracer:
        if event == "line" and self.active:
            if not self.watcher.is_watching():
                self.stop()
                return None
            for use in uses_at(frame.f_code.co_filename, frame.f_lineno):
                array = value_of(use.array, frame)
                if isinstance(array, np.ndarray) and is_reading(use, array, frame):
                    self.watcher.touch(array, use.writes)
        return self.trace_line


def stores_into_an_array(method: str) -> bool:
    """Whether the user's line puts what `method` returns into an array: x[i] = y.method()."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_of_interest(frame):
        frame = frame.f_back
    if frame is None:
        return False
    statements = statements_of(text_of(frame.f_code.co_filename))
    for statement in statements.get(frame.f_lineno, []):
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        target, call = statement.targets[0], statement.value.func
        if isinstance(call, ast.Attribute) and call.attr == method:
            if isinstance(target, ast.Subscript):
                return isinstance(value_of(target.value, frame), np.ndarray)
    return False


def is_of_interest(frame: FrameType) -> bool:
    filename = frame.f_code.co_filename
    return is_users(filename) and not filename.startswith(NOT_THE_USERS)


def is_reading(use: Use, array: np.ndarray, frame: FrameType) -> bool:
    """Whether the elements of an array are looked at by its use, at once."""
    if use.into is not None:
        return isinstance(value_of(use.into, frame), np.ndarray)
    function = None if use.function is None else value_of(use.function, frame)
    if isinstance(array, HostArray):  # it has a word itself, but for what asks no array
        return any(function is known for known in ASKING_NOBODY)
    if use.function is None:
        return True
    if any(function is known for known in EAGER_BUILTINS):
        return True
    module = str(getattr(function, "__module__", "") or "")
    is_numpys = isinstance(function, np.ufunc) or module.partition(".")[0] == "numpy"
    return is_numpys and not any(function is known for known in NOT_READING)


def value_of(node: ast.expr, frame: FrameType) -> Any:
    """What a name, a field or an element stands for, without running any code; else None."""
    if isinstance(node, ast.Name):
        for scope in (frame.f_locals, frame.f_globals, vars(sys.modules["builtins"])):
            if node.id in scope:
                return scope[node.id]
    if isinstance(node, ast.Attribute):
        owner = value_of(node.value, frame)
        if isinstance(owner, ModuleType):
            return getattr(owner, node.attr, None)
        return getattr(owner, "__dict__", {}).get(node.attr)
    if isinstance(node, ast.Subscript):
        owner, index = value_of(node.value, frame), value_of(node.slice, frame)
        if type(owner) in (list, tuple, dict) and isinstance(index, (int, str)):
            return owner.get(index) if isinstance(owner, dict) else element(owner, index)
    return node.value if isinstance(node, ast.Constant) else None


def element(values: Any, index: Any) -> Any:
    return values[index] if isinstance(index, int) and -len(values) <= index < len(values) else None


# ---------------------------------------------------------------- what the text of a line reads


def uses_at(filename: str, line: int) -> list[Use]:
    return uses_of_text(text_of(filename)).get(line, [])


def text_of(filename: str) -> str:
    """What a file holds now: another one may have been there under the same name before."""
    return "".join(linecache.getlines(filename))


@functools.lru_cache(maxsize=64)
def uses_of_text(text: str) -> dict[int, list[Use]]:
    """line -> uses of the one statement that begins there."""
    # Of two statements on a line the first may wait for what the second reads.
    statements = statements_of(text)
    return {line: uses_of(found[0]) for line, found in statements.items() if holds_all(found)}


@functools.lru_cache(maxsize=64)
def statements_of(text: str) -> dict[int, list[ast.stmt]]:
    """line -> the statements that begin there."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return {}
    statements: dict[int, list[ast.stmt]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            statements.setdefault(node.lineno, []).append(node)
    return statements


def holds_all(statements: list[ast.stmt]) -> bool:
    """Whether the first is the only one, or the others are its block: `if ready: print(x)`."""
    first, *others = statements
    within = set(ast.walk(first)) if others else set()
    return all(other in within for other in others)


def uses_of(statement: ast.stmt) -> list[Use]:
    uses: list[Use] = []
    for part in own_expressions(statement):
        nodes = list(ast.walk(part))
        if any(isinstance(node, ast.Attribute) and node.attr in WAITS for node in nodes):
            return []
        parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
        parents.setdefault(part, statement)
        uses += filter(None, (use_of(node, parents) for node in nodes))
    return uses


def own_expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement that run with its first line, without the blocks in it."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return
    for node in ast.iter_child_nodes(statement):
        if not isinstance(node, (ast.stmt, ast.excepthandler)):
            yield node


def use_of(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Use | None:
    """How the expression is used, if it may be an array and the text around it tells."""
    if not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
        return None
    parent = seen_through_views(node, parents)
    holder = parents.get(parent)
    if isinstance(holder, ast.Subscript) and holder.value is parent:
        return Use(node, isinstance(holder.ctx, ast.Store))
    if isinstance(holder, ast.Attribute):
        if holder.attr in WRITING:
            return Use(node, True)
        return Use(node, False) if holder.attr in READING else None
    if isinstance(holder, ast.Call) and holder.func is not parent:
        return Use(node, False, holder.func)
    if isinstance(holder, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.FormattedValue)):
        return Use(node, False)
    if isinstance(holder, ast.AugAssign):
        return Use(node, holder.target is parent)
    if isinstance(holder, ast.Assign) and isinstance(holder.targets[0], ast.Subscript):
        return Use(node, False, into=holder.targets[0].value) if holder.value is parent else None
    if isinstance(holder, (ast.For, ast.comprehension)) and holder.iter is parent:
        return Use(node, False)
    return None


def seen_through_views(node: ast.expr, parents: dict[ast.AST, ast.AST]) -> ast.AST:
    """The largest expression around an array that is still only a view of it."""
    here: ast.AST = node
    while True:
        holder = parents.get(here)
        if isinstance(holder, ast.Subscript) and holder.value is here and is_slice(holder):
            here = holder
        elif isinstance(holder, ast.Attribute) and holder.attr in VIEWS:
            call = parents.get(holder)
            here = call if isinstance(call, ast.Call) and call.func is holder else holder
        else:
            return here


def is_slice(node: ast.Subscript) -> bool:
    """Whether an array's part of this index is a view, and still to be read."""
    is_read = isinstance(node.ctx, ast.Load)
    return is_read and any(isinstance(part, ast.Slice) for part in parts_of(node.slice))
