"""Whether a kernel compiles for a GPU: Numba decides where it can be asked, else our rules."""

import ast
import copy
import weakref
from collections.abc import Callable, Container, Hashable, Sequence
from types import CodeType
from typing import NamedTuple, TypeAlias

from numba.core.types import Type

from .compile_checks import Refusal, compile_refusals, sources_reached
from .compile_words import FAILURES, explain
from .names import is_of_successor
from .numba_compiler import CannotAsk, CompileError, compile_error, fingerprint
from .source import Source, codes_in

Types: TypeAlias = tuple[Type, ...] | None


class Verdict(NamedTuple):
    """refusals: what does not compile.

    not_asked: None if Numba was asked, else the reason; "" if it was not to be asked.
    """

    refusals: tuple[Refusal, ...]
    not_asked: str | None


# kernel's function -> {types of its arguments -> the verdict}
verdicts: weakref.WeakKeyDictionary[Callable, dict[Hashable, Verdict]]
verdicts = weakref.WeakKeyDictionary()


def compile_verdict(
    kernel: object,
    source: Source,
    arguments: Sequence[object],
    types: Types = None,
    ask_numba: bool = True,
) -> Verdict:
    """Whether a kernel compiles for these arguments. Numba is asked once for each set of types.

    kernel: what `@cuda.jit` made of the function of `source`, or that function. types: those of the
    arguments, if the kernel has an explicit signature.
    """
    if not ask_numba:
        return Verdict(tuple(by_rules(source, arguments)), "")
    known = verdicts.setdefault(source.function, {})
    key = tuple(map(fingerprint, arguments)), types
    if key not in known:
        known[key] = new_verdict(kernel, source, arguments, types)
    return known[key]


def new_verdict(
    kernel: object, source: Source, arguments: Sequence[object], types: Types
) -> Verdict:
    reached = sources_reached(source)
    for function in reached:
        put_back(function)
    successor = is_of_successor(kernel) or any(map(is_for_successor, reached))
    try:
        error = compile_error(kernel, source.function, arguments, types, successor)
    except CannotAsk as reason:
        return Verdict(tuple(by_rules(source, arguments)), str(reason))
    if error is None:
        return Verdict((), None)
    refusals = by_rules(source, arguments)
    crashed = error.kind in FAILURES and refusals  # and its place says nothing
    if not crashed and not any(is_about(refusal, error, source) for refusal in refusals):
        refusals.insert(0, refusal_of(error, source))
    return Verdict(tuple(refusals), None)


def by_rules(source: Source, arguments: Sequence[object]) -> list[Refusal]:
    """What our own rules refuse, one refusal per line."""
    found: dict[tuple[str, int], Refusal] = {}
    for refusal in compile_refusals(source, arguments):
        found.setdefault((refusal.filename, refusal.line), refusal)
    return list(found.values())


def is_for_successor(source: Source) -> bool:
    names = source.function.__code__.co_names + source.function.__code__.co_freevars
    return any(is_of_successor(source.lookup(name)) for name in names)


def refusal_of(error: CompileError, kernel: Source) -> Refusal:
    """Numba's error in the words of the function that it is about."""
    source = next((s for s in sources_reached(kernel) if is_within(error, s)), kernel)
    message = explain(error, source)
    if source is not kernel:
        message = f"in {source.function.__name__}: {message}"
    line = line_of(error, source)
    return Refusal(error.filename, line, message, line)


def line_of(error: CompileError, source: Source) -> int:
    """Where the error is. Of a value whose type it cannot tell, Numba often does not say where."""
    if "cannot be determined" in error.message and "unknown location" in error.message:
        assigned = (
            node.lineno for node in ast.walk(source.tree) if isinstance(node, ast.NamedExpr)
        )
        return min(assigned, default=error.line)
    return error.line


def is_about(refusal: Refusal, error: CompileError, kernel: Source) -> bool:
    """Whether one of our rules has found what Numba has found.

    Numba may see a list only where it is used: a line that uses what the refused line assigns.
    """
    if refusal.filename != error.filename:
        return False
    lines = range(refusal.line, refusal.last_line + 1)
    if error.line in lines:
        return True
    return any(
        names_at(source, lines, ast.Store) & names_at(source, [error.line], ast.Load)
        for source in sources_reached(kernel)
        if is_within(error, source)
    )


def names_at(source: Source, lines: Container[int], context: type) -> set[str]:
    """The names that some lines assign to, or read."""
    nodes = (node for node in ast.walk(source.tree) if isinstance(node, ast.Name))
    return {n.id for n in nodes if n.lineno in lines and isinstance(n.ctx, context)}


def is_within(error: CompileError, source: Source) -> bool:
    return error.filename == source.filename and error.line in source.lines


# ---------------------------------------------------------------- asserts that pytest has rewritten

# Its byte code is put back to what the source says, so that a kernel compiles alike wherever it
# stands.


MARK = "@pytest_ar"  # pytest's name, in a module that it has rewritten, for its own functions


def put_back(source: Source) -> None:
    """Give a function the byte code of its source, if pytest has rewritten its asserts."""
    code = source.function.__code__
    if MARK not in code.co_names:
        return
    plain = compiled(source, code)
    if plain is not None and plain.co_freevars == code.co_freevars:
        source.function.__code__ = plain


def compiled(source: Source, code: CodeType) -> CodeType | None:
    """The byte code of a function as its source has it."""
    definition = copy.copy(source.tree)
    definition.decorator_list = []
    # The names that it takes from a function around it must be there to be taken.
    module = ast.parse(f"def around({', '.join(code.co_freevars)}): pass")
    around = module.body[0]
    assert isinstance(around, ast.FunctionDef)
    around.body = [definition]
    whole = compile(module, code.co_filename, "exec", dont_inherit=True)
    inner = (found for one in codes_in(whole) for found in codes_in(one))
    return next((found for found in inner if found.co_name == code.co_name), None)
