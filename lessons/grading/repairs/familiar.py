"""Which changes make a text more like code that is known to be right: they are tried first.

Three words in a row that no right file has are a little suspect; a change after which there are
fewer of them is a little likelier to be the one that is wanted.
"""

from collections.abc import Iterable, Iterator, Sequence

from lessons.grading.repairs.lines import WORDS
from lessons.grading.repairs.source import Change, Source

MOST_GAIN = 2
BEGIN, END = "<", ">"  # of a line, as words of their own


class Familiar:
    """All rows of three words of some files."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.known: set[tuple[str, ...]] = set()
        self.counted: dict[str, int] = {}  # line -> its strange rows
        for text in texts:
            for line in text.splitlines():
                self.known.update(rows_of_three(WORDS.findall(line.partition("#")[0])))

    def gain(self, change: Change, source: Source) -> int:
        """How many strange rows the change removes, less those it makes; within `MOST_GAIN`."""
        start = source.content.rfind(b"\n", 0, change.start) + 1
        end = source.content.find(b"\n", change.end)
        end = len(source.content) if end < 0 else end
        before = source.between(start, end)
        after = source.between(start, change.start) + change.new + source.between(change.end, end)
        gain = self.strange(before) - self.strange(after)
        return max(-MOST_GAIN, min(MOST_GAIN, gain))

    def strange(self, text: str) -> int:
        return sum(map(self.strange_in_line, text.splitlines()))

    def strange_in_line(self, line: str) -> int:
        if line not in self.counted:
            rows = rows_of_three(WORDS.findall(line.partition("#")[0]))
            self.counted[line] = sum(row not in self.known for row in rows)
        return self.counted[line]


def rows_of_three(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    row = [BEGIN, *words, END]
    yield from zip(row, row[1:], row[2:], strict=False)
