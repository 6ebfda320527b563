"""What a line of the student's and one of ours differ in, in words.

They tell of what kind the change is, and never what stands in ours.
"""

import ast
import difflib
import keyword
import re
from collections.abc import Collection, Sequence

from lessons.course.source_text import syntax_tree
from lessons.grading.repairs.lines import Line

COMPARED = {"<", "<=", ">", ">=", "==", "!="}
OPERATORS = {"+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"}
FACTORS, SIGNS = {"*", "/", "//", "%", "**"}, {"+", "-"}
ASSIGNED = {"=", "+=", "-=", "*=", "/=", "//="}
LETTERS = {"x", "y", "z"}
MOST_DIFFERENCES = 3  # told of one line
MOST_WORDS = 12  # that are quoted
MOST_QUOTED = 40  # characters
A_PART = "a part of it"  # where the words cannot be quoted
# Of a line as Python itself writes it: there are no spaces around the = of an argument.
ASSIGNMENT = re.compile(r"([\w.]+)(?:\[[^=]*\])?(?:, [\w., ]+)? (?:[-+*/%&|^]|//|\*\*|<<|>>)?= ")


def told_missing(line: Line, above: Line, known: Collection[str]) -> tuple[str, str]:
    """(kind, words) for a line that is missing behind another, the one above.

    known: the names of the student's file; no other name is told.
    """
    further_out = line.depth < above.depth
    it = "the `if` or the loop that ends with it" if further_out else "it"
    if "syncwarp" in line.text:
        return "barrier", "with a barrier of the warp alone, cuda.syncwarp(), behind this line"
    if "syncthreads" in line.text:
        inside = "the `if` or the loop that ends with " if further_out else ""
        return "barrier", f"with a barrier behind {inside}this line"
    if line.text.startswith(("for ", "while ")):
        return "loop", "with a loop behind this line"
    if line.text.startswith(("if ", "else")):
        return "condition", "with a condition behind this line"
    changed = ASSIGNMENT.match(line.text)
    if changed and changed[1].partition(".")[0] not in known:
        return "line missing", f"with one more line behind {it}"
    if changed and changed[1] in names_set(above):
        return "value", f"with another value for `{changed[1]}`"
    if changed:
        return "line missing", f"with one more line behind {it}, which changes `{changed[1]}`"
    called = re.match(r"([\w.]+)\(", line.text)
    if called and called[1].partition(".")[0] in known:
        return "line missing", f"with one more line behind {it}, a call of `{called[1]}`"
    return "line missing", f"with one more line behind {it}"


def names_set(line: Line) -> set[str]:
    """The names that a line gives a value, and does not read; none for a line that is no `=`."""
    targets, equals, value = line.text.partition(" = ")
    if not equals or not re.fullmatch(r"[\w, ()]+", targets):
        return set()
    return set(re.findall(r"\w+", targets)) - set(re.findall(r"\w+", value))


def told_change(mine: Line, ours: Line) -> tuple[str, str]:
    """(kind, words) for a line that is different in ours."""
    if mine.text == ours.text:
        way = "further in" if ours.depth > mine.depth else "further out"
        return "in or out of a loop", f"with this line {way}: in, or out of, a loop or a condition"
    more = told_range(mine.text, ours.text)
    if more:
        return "loop", more
    words, others = mine.words, ours.words
    if sorted(words) == sorted(others):
        return told_order(words, others)
    matcher = difflib.SequenceMatcher(None, words, others, autojunk=False)
    changes = [(i, j, k, m) for tag, i, j, k, m in matcher.get_opcodes() if tag != "equal"]
    single = all(j - i == m - k == 1 for i, j, k, m in changes)
    replaced = all(j - i == 1 for i, j, k, m in changes) and len(changes) == 2
    if len(changes) > 1 and not ((single and len(changes) <= MOST_DIFFERENCES) or replaced):
        changes = [middle(words, others)]
    found = [told_difference(*balanced(words, others, *change)) for change in changes]
    distinct = list(dict.fromkeys(found))
    distinct = [one for one in distinct if one[0] != "line"] or distinct
    return distinct[0][0], " and ".join(words for _, words in distinct)


def told_range(mine: str, ours: str) -> str:
    """Words for a loop that goes over `range` of one number, where ours has more; else ""."""
    mine_has, ours_has = (numbers_of_range(text) for text in (mine, ours))
    if len(mine_has) != 1 or len(ours_has) < 2 or mine_has[0] != ours_has[1]:
        return ""
    step = " and a step" if len(ours_has) == 3 else ""
    return f"if `range` has a beginning{step}, too"


def numbers_of_range(text: str) -> list[str]:
    """What `range` is given in the head of a loop; nothing for other lines."""
    tree = syntax_tree(f"{text} pass") if text.startswith("for ") else None
    loop = tree.body[0] if tree else None
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call):
        return []
    is_range = isinstance(loop.iter.func, ast.Name) and loop.iter.func.id == "range"
    return [ast.unparse(number) for number in loop.iter.args] if is_range else []


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
        elif k < m and i > 0 and k > 0 and is_cut_off(words, i, j):
            i, k = i - 1, k - 1
        else:
            return words[i:j], others[k:m]


def is_cut_off(words: Sequence[str], i: int, j: int) -> bool:
    """Whether they begin with the arguments of a call, or with an index, and not with its name."""
    name = words[i - 1]
    return words[i:j][:1] in (["("], ["["]) and name.isidentifier() and not keyword.iskeyword(name)


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
    several = "," in (mine[0], mine[-1])  # numbers or arguments, of which some may be right
    if len(mine) > MOST_WORDS or several or text == A_PART:
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
    if ends & FACTORS:
        more = " and one more term" if SIGNS & set(outside_of_brackets(ours)) else ""
        return "factor", f"with one more factor or divisor{more}"
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


def outside_of_brackets(words: Sequence[str]) -> list[str]:
    return [word for place, word in enumerate(words) if depth(words[:place])[0] == 0]


def quoted(words: Sequence[str]) -> str:
    text = " ".join(words).strip(", ")
    text = re.sub(r" ([.,)\]])", r"\1", text)
    text = re.sub(r"([.(\[]) ", r"\1", text)
    text = re.sub(r"(\w) ([(\[])", r"\1\2", text)
    whole = depth(words) == (0, 0) and len(text) <= MOST_QUOTED
    return f"`{text}`" if whole else A_PART
