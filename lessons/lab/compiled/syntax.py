"""Pieces of syntax tree that the rewriting needs."""

import ast

PREFIX = "_lab_"  # of names that a rewritten function gets
THREAD = f"{PREFIX}thread"


def name(text: str) -> ast.Name:
    """One of our own names."""
    return ast.Name(PREFIX + text, ast.Load())


def thread() -> ast.Name:
    return ast.Name(THREAD, ast.Load())


def call(function: str, *arguments: ast.expr) -> ast.Call:
    """A call of one of our own functions."""
    return ast.Call(name(function), list(arguments), [])


def wait(code: int) -> ast.Call:
    return call("wait", ast.Constant(code))
