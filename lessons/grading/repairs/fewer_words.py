"""A line as in a right function, with some of what is different in it left as it was.

A line of ours may do more than mend the student's: what is told should be what has to change.
"""

import ast
import difflib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lessons.course.source_text import syntax_tree
from lessons.grading.repairs.lines import Line, head_of

MOST_CHANGES = 6  # of a line; more are another line


class Part(NamedTuple):
    mine: Sequence[str]
    ours: Sequence[str]


def with_fewer_changes(mine: Line, ours: Line) -> Iterator[Line]:
    """`ours` with one of its differences from `mine` taken back; none if it has but one."""
    words, others = mine.words, ours.words
    parts = list(parts_of(words, others))
    changes = [part for part in parts if part.mine != part.ours]
    if not 2 <= len(changes) <= MOST_CHANGES:
        return
    for kept in changes:
        found = (word for part in parts for word in (part.mine if part is kept else part.ours))
        if text := as_written(" ".join(found)):
            yield ours._replace(text=text)


def parts_of(words: Sequence[str], others: Sequence[str]) -> Iterator[Part]:
    """Two lists of words side by side; where as many are others, word by word."""
    matcher = difflib.SequenceMatcher(None, words, others, autojunk=False)
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "replace" and j - i == m - k:
            for word, other in zip(words[i:j], others[k:m], strict=True):
                yield Part([word], [other])
        else:
            yield Part(words[i:j], others[k:m])


def as_written(text: str) -> str:
    """A statement, or the head of one, as `lines_of` writes it; "" if it is neither."""
    tree = syntax_tree(text + " pass" if text.endswith(":") else text)
    if tree is None or len(tree.body) != 1:
        return ""
    (statement,) = tree.body
    if isinstance(statement, (ast.For, ast.If, ast.While)):
        return head_of(statement)
    return "" if isinstance(statement, ast.FunctionDef) else ast.unparse(statement)
