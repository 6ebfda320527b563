"""Pieces of syntax tree that the rewriting needs, and questions it asks of a function."""

import ast

from lessons.lab.compile_checks import sources_reached
from lessons.lab.names import CudaName, resolve
from lessons.lab.source import Source


def name(text: str) -> ast.Name:
    return ast.Name(text, ast.Load())


def call(function: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(name(function), list(arguments), [])


def waiting() -> ast.Expr:
    """The statement with which a thread says that it waits at a barrier."""
    return ast.Expr(ast.Yield(ast.Constant(False)))


def finished() -> ast.Expr:
    """The statement with which a thread says that it has finished."""
    return ast.Expr(ast.Yield(ast.Constant(True)))


def has_barrier(source: Source) -> bool:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call):
            target = resolve(source, node.func)
            if isinstance(target, CudaName) and target.path == "syncthreads":
                return True
    return False


def touches_arrays_or_cuda(source: Source) -> bool:
    """Whether a function, or one that it calls, indexes something or uses `cuda`."""
    return any(
        isinstance(node, ast.Subscript) or isinstance(resolve(reached, node), CudaName)
        for reached in sources_reached(source)
        for node in ast.walk(reached.tree)
    )
