"""Kernels in test files: pytest rewrites every `assert` there into what Numba cannot compile.

Its byte code is put back to what the source says, so that a kernel compiles alike wherever it
stands.
"""

import ast
import copy
from types import CodeType

from .source import Source

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
    return inner_code(inner_code(whole, "around"), code.co_name)


def inner_code(code: CodeType | None, name: str) -> CodeType | None:
    constants = code.co_consts if code else ()
    codes = [c for c in constants if isinstance(c, CodeType) and c.co_name == name]
    return codes[0] if codes else None
