"""Where a student's function differs from ours, line by line, and what that is in words.

Our solution only says where to look first. Whether a line is the mistake is found by running the
student's function with that one line changed.
"""

import ast
import difflib
import keyword
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from lessons.grading.repairs.differences import (
    Difference,
    Place,
    by_name,
    definitions,
    given_names,
    overwrites,
    returns,
    stored_array,
    with_moves,
    with_replaced,
)
from lessons.grading.repairs.lines import (
    Line,
    Pair,
    lines_of,
    paired,
    renamed,
    text_of,
)
from lessons.grading.repairs.scope import Scope
from lessons.grading.repairs.source import Source

COMPARED = {"<", "<=", ">", ">=", "==", "!="}
OPERATORS = {"+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"}
ASSIGNED = {"=", "+=", "-=", "*=", "/=", "//="}
LETTERS = {"x", "y", "z"}
MOST_DIFFERENCES = 3  # told of one line
MOST_WORDS = 12  # that are quoted
MOST_QUOTED = 40  # characters


class Compared:
    """A student's function beside the right one that is most like it."""

    def __init__(self, source: Source, mine: ast.FunctionDef, right: Sequence[Source]) -> None:
        """right: files with right functions; one of them at least has this function."""
        self.source = source
        self.function = mine
        self.mine = lines_of(mine)
        self.file, ours = nearest(self.mine, mine.name, right)
        my_names, their_names = set(Scope(mine, set()).known), set(Scope(ours, set()).known)
        self.ours = renamed(self.mine, lines_of(ours), my_names, their_names)
        self.differences = list(self.find_differences())
        self.definitions = definitions(self.differences, self.mine)

    def find_differences(self) -> Iterator[Difference]:
        pairs = paired(self.mine, self.ours)
        found = []
        for index, pair in enumerate(pairs):
            if pair.mine is not None and pair.other is not None:
                mine, ours = self.mine[pair.mine], self.ours[pair.other]
                if self.defines_more(mine, ours):
                    found.append(self.too_many(pair.mine))
                    found.append(self.missing(pair.mine, ours))
                elif (mine.depth, mine.text) != (ours.depth, ours.text):
                    place = Place(mine.number, *told_change(mine, ours))
                    hides = returns(ours) and not returns(mine)
                    found.append(Difference(place, (pair.mine,), pair.mine, (ours,), hides))
            elif pair.mine is not None:
                found.append(self.too_many(pair.mine))
            elif pair.other is not None:
                before = next_of_mine(pairs[index:], len(self.mine))
                found.append(self.missing(before, self.ours[pair.other]))
        yield from with_replaced(list(with_moves(found, self.mine)), self.mine)

    def defines_more(self, mine: Line, ours: Line) -> bool:
        """Whether ours defines a name that mine does not have, in a line that is another."""
        theirs = given_names(ours)
        return (
            bool(theirs)
            and not theirs & given_names(mine)
            and not any(theirs & set(line.words) for line in self.mine)
        )

    def too_many(self, index: int) -> Difference:
        place = Place(self.mine[index].number, "line too many", "without this line")
        return Difference(place, (index,), index, ())

    def missing(self, before: int, line: Line) -> Difference:
        number = self.mine[max(0, before - 1)].number
        place = Place(number, *told_missing(line))
        stored = stored_array(line)
        hides = (
            returns(line)
            or overwrites(line, self.mine[:before])
            or (stored and any(stored_array(mine) == stored for mine in self.mine))
        )
        return Difference(place, (), before, (line,), bool(hides))

    def by_name(self) -> Iterator[tuple[str, list[Difference]]]:
        """The differences of each name that is computed in another way."""
        return by_name(self.differences, self.mine)

    def with_definitions(self, chosen: Iterable[Difference]) -> list[Difference]:
        """These differences, with the lines that define what theirs use."""
        found = list(chosen)
        for difference in found:  # grows on the way
            for word in (word for line in difference.new for word in line.words):
                definition = self.definitions.get(word)
                if definition and definition not in found:
                    found.append(definition)
        return [one for one in self.differences if one in found]

    def smallest(self, most: int) -> list[Difference]:
        """The differences of the fewest words, so many at most, in their order."""
        size = {id(difference): self.size(difference) for difference in self.differences}
        chosen = sorted(self.differences, key=lambda difference: size[id(difference)])[:most]
        return [difference for difference in self.differences if difference in chosen]

    def same_lines(self, differences: Iterable[Difference]) -> bool:
        """Whether the lines that come are those that go."""
        mine = sorted(self.mine[index].text for one in differences for index in one.mine)
        return mine == sorted(line.text for one in differences for line in one.new)

    def size(self, difference: Difference) -> int:
        """How many words it changes."""
        mine = Counter(word for index in difference.mine for word in self.mine[index].words)
        new = Counter(word for line in difference.new for word in line.words)
        return ((mine - new) + (new - mine)).total()

    def runs(self) -> Iterator[tuple[Difference, ...]]:
        """Differences of neighbouring lines, two or more: they may be one mistake."""
        run: list[Difference] = []
        for difference in self.differences:
            if run and difference.before > run[-1].before + 1:
                yield from [tuple(run)] if len(run) > 1 else []
                run = []
            run.append(difference)
        yield from [tuple(run)] if len(run) > 1 else []

    def with_changes(self, chosen: Iterable[Difference]) -> str:
        """The whole file with these differences as in our function."""
        gone = {index for difference in chosen for index in difference.mine}
        lines: list[Line] = []
        for index in range(len(self.mine) + 1):
            for difference in chosen:
                if difference.before == index:
                    lines += difference.new
            if index < len(self.mine) and index not in gone:
                lines.append(self.mine[index])
        first = min([self.function.lineno, *(d.lineno for d in self.function.decorator_list)])
        start = self.source.starts[first - 1]
        _, end = self.source.lines_of(self.function)
        before, after = self.source.content[:start], self.source.content[end:]
        imports = "".join(self.imports_for(chosen))
        return imports + (before + text_of(lines).encode() + after).decode("utf-8", "replace")

    def imports_for(self, chosen: Iterable[Difference]) -> Iterator[str]:
        """What lines of ours need, and the student's file has not imported."""
        used = {word for difference in chosen for line in difference.new for word in line.words}
        theirs = self.file.imports()
        for name in sorted(used & set(theirs) - set(self.source.imports())):
            yield theirs[name] + "\n"


def nearest(
    mine: Sequence[Line], name: str, files: Sequence[Source]
) -> tuple[Source, ast.FunctionDef]:
    """Of the functions of this name the one that has most words in common with these lines."""
    words = Counter(word for line in mine for word in line.words)

    def unlike(found: tuple[Source, ast.FunctionDef]) -> int:
        theirs = Counter(word for line in lines_of(found[1]) for word in line.words)
        return ((words - theirs) + (theirs - words)).total()

    known = [(file, file.functions()[name]) for file in files if name in file.functions()]
    return min(known, key=unlike)


def next_of_mine(pairs: Sequence[Pair], otherwise: int) -> int:
    return next((pair.mine for pair in pairs if pair.mine is not None), otherwise)


# ---------------------------------------------------------------- words


def told_missing(line: Line) -> tuple[str, str]:
    """(kind, words) for a line that is missing behind another."""
    if "syncthreads" in line.text or "syncwarp" in line.text:
        return "barrier", "with a barrier behind this line"
    if line.text.startswith(("for ", "while ")):
        return "loop", "with a loop behind this line"
    if line.text.startswith(("if ", "else")):
        return "condition", "with a condition behind this line"
    changed = re.match(r"([\w.]+)[^=]*=", line.text)
    if changed:
        return "line missing", f"with one more line behind it, which changes `{changed[1]}`"
    called = re.match(r"([\w.]+)\(", line.text)
    if called:
        return "line missing", f"with one more line behind it, a call of `{called[1]}`"
    return "line missing", "with one more line behind it"


def told_change(mine: Line, ours: Line) -> tuple[str, str]:
    """(kind, words) for a line that is different in ours."""
    if mine.text == ours.text:
        way = "further in" if ours.depth > mine.depth else "further out"
        return "in or out of a loop", f"with this line {way}: in, or out of, a loop or a condition"
    words, others = mine.words, ours.words
    if sorted(words) == sorted(others):
        return told_order(words, others)
    matcher = difflib.SequenceMatcher(None, words, others, autojunk=False)
    changes = [(i, j, k, m) for tag, i, j, k, m in matcher.get_opcodes() if tag != "equal"]
    single = all(j - i == m - k == 1 for i, j, k, m in changes)
    if len(changes) > 1 and not (single and len(changes) <= MOST_DIFFERENCES):
        changes = [middle(words, others)]
    found = [told_difference(*balanced(words, others, *change)) for change in changes]
    distinct = list(dict.fromkeys(found))
    return distinct[0][0], " and ".join(words for _, words in distinct)


def told_order(words: Sequence[str], others: Sequence[str]) -> tuple[str, str]:
    """(kind, words) for a line that has the same words as ours, in another order."""
    if [word for word in words if word not in "()"] == [
        word for word in others if word not in "()"
    ]:
        return "parentheses", "with parentheses around another part"
    moved = [word for word, other in zip(words, others, strict=True) if word != other]
    if len(moved) == 2:
        return "order", f"with `{moved[0]}` and `{moved[1]}` exchanged"
    return "order", "with the same things in another order"


def middle(words: Sequence[str], others: Sequence[str]) -> tuple[int, int, int, int]:
    """Where two lists of words differ, from the first difference to the last, in each."""
    shorter = min(len(words), len(others))
    before = next((i for i in range(shorter) if words[i] != others[i]), shorter)
    left = shorter - before
    behind = next((i for i in range(left) if words[-1 - i] != others[-1 - i]), left)
    return before, len(words) - behind, before, len(others) - behind


def balanced(
    words: Sequence[str], others: Sequence[str], i: int, j: int, k: int, m: int
) -> tuple[Sequence[str], Sequence[str]]:
    """The words that differ, with as many beside them as close what they open."""
    while True:
        open_, missing = depth(words[i:j])
        if missing and i > 0 and k > 0:
            i, k = i - 1, k - 1
        elif open_ and j < len(words) and m < len(others):
            j, m = j + 1, m + 1
        else:
            return words[i:j], others[k:m]


def depth(words: Sequence[str]) -> tuple[int, int]:
    """How many parentheses and brackets stay open, and how many are closed but not opened."""
    still_open = missing = 0
    for word in words:
        if word in "([":
            still_open += 1
        elif word in ")]" and still_open:
            still_open -= 1
        elif word in ")]":
            missing += 1
    return still_open, missing


def told_difference(mine: Sequence[str], ours: Sequence[str]) -> tuple[str, str]:
    """(kind, words) for a few words of a line in place of which ours has others."""
    if not mine:
        return told_too_little(ours)
    text = quoted(mine)
    if not ours:
        return told_too_much(mine, text)
    if len(mine) == len(ours) == 1:
        return told_word(mine[0], ours[0])
    if len(mine) > MOST_WORDS:
        return "line", "with a part of this line written in another way"
    return "expression", f"with something else in place of {text}"


def told_word(mine: str, ours: str) -> tuple[str, str]:
    both = {mine, ours}
    if both <= COMPARED:
        return "comparison", "with another comparison"
    if both <= OPERATORS:
        return "operator", f"with another operator in place of `{mine}`"
    if both <= ASSIGNED:
        return "assignment", f"with another assignment in place of `{mine}`"
    if both <= LETTERS:
        return "x, y, z", f"with another of x, y and z in place of `{mine}`"
    if mine[0].isdigit():
        return "number", f"with something else in place of the number `{mine}`"
    if both <= {"and", "or"}:
        return "condition", "with the conditions joined in the other way (`and`, `or`)"
    if mine.isidentifier() and not keyword.iskeyword(mine):
        return "name", f"with something else in place of `{mine}`"
    return "expression", f"with something else in place of `{mine}`"


def told_too_much(mine: Sequence[str], text: str) -> tuple[str, str]:
    kinds = (({"*", "/", "//"}, "factor"), ({"+", "-"}, "term"), ({"and", "or"}, "condition"))
    for signs, kind in kinds:
        if {mine[0], mine[-1]} & signs:
            return kind, f"without {text}"
    return "expression", f"without {text}"


def told_too_little(ours: Sequence[str]) -> tuple[str, str]:
    if list(ours) == ["-"]:
        return "sign", "with the opposite sign"
    if list(ours[-2:]) in (["+", "1"], ["-", "1"]) and len(ours) == 2:
        return "one more or less", "with one more or one less in it"
    ends = {ours[0], ours[-1]}
    if ends & {"and", "or"}:
        return "condition", "with one more condition"
    if ends & {"*", "/", "//", "%", "**"}:
        return "factor", "with one more factor or divisor"
    if ends & {"+", "-"}:
        return "term", "with one more term"
    if "," in ends:
        return "argument", "with one more argument, index or name"
    if "(" in ends and len(ours) > 1:
        return "function", "with a function around a part of it"
    if set(ours) <= {"(", ")"}:
        return "parentheses", "with parentheses around another part"
    if "not" in ours:
        return "condition", "with the condition turned round"
    return "expression", "with something more in it"


def quoted(words: Sequence[str]) -> str:
    text = " ".join(words).strip(", ")
    text = re.sub(r" ([.,)\]])", r"\1", text)
    text = re.sub(r"([.(\[]) ", r"\1", text)
    text = re.sub(r"(\w) ([(\[])", r"\1\2", text)
    whole = depth(words) == (0, 0) and len(text) <= MOST_QUOTED
    return f"`{text}`" if whole else "a part of it"
