"""A student's text with its syntax tree, and a change of one place in it.

Positions are bytes of the UTF-8 text, as in the syntax trees of Python.
"""

import ast
from typing import NamedTuple

from lessons.course.source_text import syntax_tree

COMPOUND = (
    ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda, ast.NamedExpr, ast.Tuple,
    ast.UnaryOp,
)  # fmt: skip


class Change(NamedTuple):
    """One place of a text, and what could stand there."""

    start: int  # bytes
    end: int
    new: str
    line: int  # of the student's text, from 1
    kind: str  # a word or two: "comparison"
    words: str  # goes on after "line 3: ", such as "with another comparison there"


class Source:
    """A Python text that can be parsed; `tree` is None for one that cannot."""

    def __init__(self, text: str) -> None:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        self.content = text.encode("utf-8")
        self.tree = syntax_tree(text)
        self.starts = [0]  # of each line
        for line in self.content.split(b"\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """(first byte, first byte behind it) of a node."""
        assert node.end_lineno and node.end_col_offset is not None, "a parsed node has an end"
        start = self.starts[node.lineno - 1] + node.col_offset
        return start, self.starts[node.end_lineno - 1] + node.end_col_offset

    def lines_of(self, statement: ast.stmt) -> tuple[int, int]:
        """As `span`, for the whole lines of a statement."""
        assert statement.end_lineno, "a parsed node has an end"
        end = min(self.starts[statement.end_lineno], len(self.content))
        return self.starts[statement.lineno - 1], end

    def between(self, start: int, end: int) -> str:
        return self.content[start:end].decode("utf-8", "replace")

    def text_of(self, node: ast.expr | ast.stmt) -> str:
        return self.between(*self.span(node))

    def part(self, node: ast.expr) -> str:
        """An expression's text, in parentheses if it could fall apart elsewhere."""
        text = self.text_of(node)
        return f"({text})" if isinstance(node, COMPOUND) else text

    def replaced(self, node: ast.expr, begin: int, end: int, new: str) -> str:
        """The text of a node, with `new` in place of what stands from `begin` to `end`."""
        start, behind = self.span(node)
        return self.between(start, begin) + new + self.between(end, behind)

    def change(
        self, node: ast.expr | ast.stmt, new: str, kind: str, words: str, line: int = 0
    ) -> Change:
        """Another text in place of a node, which its own line is told of, or another one."""
        return Change(*self.span(node), new, line or node.lineno, kind, words)

    def changed(self, change: Change) -> str:
        """The whole text with this change."""
        before, after = self.content[: change.start], self.content[change.end :]
        return (before + change.new.encode("utf-8") + after).decode("utf-8", "replace")

    def functions(self) -> dict[str, ast.FunctionDef]:
        """name -> the functions at the top of the file."""
        body = self.tree.body if self.tree else []
        return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
