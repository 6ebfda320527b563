"""Changes that say more plainly what a small one does: a condition, or a call, is left out."""

import ast
from collections.abc import Iterator

from lessons.grading.repairs.source import Change, Source

# An `if` that may be left out, or with all that it stands for.
CONDITIONS = {"True": "without this condition", "False": "without these lines"}


def wider(change: Change, source: Source) -> Iterator[Change]:
    """What is tried in place of a change that has passed."""
    assert source.tree, "only files that can be read are searched"
    for node in ast.walk(source.tree):
        if isinstance(node, ast.If) and not node.orelse:
            start, end = source.span(node.test)
            if start <= change.start < change.end <= end:
                for value, words in CONDITIONS.items():
                    yield Change(start, end, value, node.lineno, "condition", words)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            start, end = source.span(node)
            if start <= change.start < change.end <= end and has_calls_like(node.value, source):
                words = "without this line" if node.lineno == node.end_lineno else "without it"
                yield Change(start, end, "pass", node.lineno, "line left out", words)


def has_calls_like(call: ast.Call, source: Source) -> bool:
    """Whether the same function is called elsewhere, too: then this call may be one too many."""
    assert source.tree, "only files that can be read are searched"
    name = ast.unparse(call.func)
    calls = [one for one in ast.walk(source.tree) if isinstance(one, ast.Call)]
    return sum(ast.unparse(one.func) == name for one in calls) > 1
