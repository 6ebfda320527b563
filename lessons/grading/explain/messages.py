"""The words in which a student is told what came of a run."""

import ast
import difflib
import re
from collections.abc import Mapping, Sequence

import numpy as np

from lessons.course.source_text import syntax_tree
from lessons.grading.explain.never_stored import (
    about_local_memory,
    stored_by_some,
    without_questions,
)
from lessons.grading.worker.outcome import Found
from lessons.grading.worker.output import Output, sentinel_of
from lessons.grading.worker.protocol import Student

MOST_FINDINGS = 4
LONGEST_LINE = 200  # characters of a quoted line
BARRIER = "cuda.syncthreads"
ENGINES = {"checked": "the checked simulator", "native": "the native engine", "cuda": "the GPU"}
KNOWN_ERRORS = {
    "NativeCompileError": "compile", "NativeRefusal": "compile", "NoKernel": "no kernel",
    "NoBlocks": "grid rounded down", "InputError": "InputError",
    "LaunchForgotten": "launch forgotten", "WrongArray": "wrong array",
    "HostArrayInLaunch": "copied by Numba", "CopiedOver": "copied over",
    "NotCopiedBack": "not copied back",
}  # fmt: skip
# What an exception's text has in it -> what to try.
ADVICE_ON_ERRORS = {
    "incompatible dtype": "the array there and the one here hold different types: say np.float32 "
    "where you make each of them",
    "incompatible shape": "the array there and the one here differ in shape: each result has a "
    "pair of its own",
}
READ_TOO_EARLY = (
    "the index is made of what a result array holds before the kernel writes it: is it read too "
    "early, or is it the wrong array?"
)
OUTSIDE = re.compile(".*?; [^.]*")  # an index: where and of which thread, and not why
NOTHING_GIVEN: Mapping[int, str] = {}
IS_GIVEN = (
    "`{}` is given, and right: look at what calls it, at what it calls, and at what your "
    "functions have left in the arrays that it reads"
)
WITHIN = re.compile(r"in (\w+) \((\w+\.py)\): ")  # code that is not the student's
# Findings of the simulator, and which of them have one cause.
IS_READ = re.compile(r"(?:(in \w+ \([^)]*\)): )?(\w+)\[[^]]*\] is read")
IS_OUTSIDE = re.compile(r"(?:^|: )(\w+)\[[^]]*\] is outside (.*)", re.DOTALL)
ADVICE = re.compile(r"(?:puts the two in order|only one of them stays): (.*)", re.DOTALL)
OTHER_LINE = re.compile(r" (?:reads it|writes it|changes it atomically) \(line (\d+)")
ONE_LINE, TWO_LINES = "this is a read-modify-write", "both lines change an element"
TWO_STEPS = "other threads do the same, and one of the changes is lost"
NO_ORDER = "nothing puts the two in order"
ABOUT_TYPES = re.compile(r" \((?:it takes|atomics take) [^)]*\)")
ONE_OWNER = "let one thread have the element: it adds up in a variable, and stores once"
# Exceptions of the grader: their text says it all.
OURS = [name for name in KNOWN_ERRORS if not name.startswith("Native")]

Group = list[Found]  # of one cause; the first is told


def call_text(function: str, arguments: tuple[object, ...]) -> str:
    return f"{function}({', '.join(map(brief, arguments))})"


def brief(argument: object) -> str:
    """An argument as a message shows it."""
    if isinstance(argument, Student):
        return argument.name
    if isinstance(argument, (Output, np.ndarray)):
        return f"array {argument.shape}"
    if isinstance(argument, (float, np.floating)):
        return f"{argument:.4g}"
    text = str(argument)
    return text if len(text) <= 24 else type(argument).__name__


def told_error(
    kind: str, message: str, line: int | None, source: Sequence[str]
) -> tuple[str, list[str]]:
    """(diagnosis, lines) for an exception of the student's code. source: the lines of the file."""
    where = f"exercise.py, line {line}: " if line else ""
    name = "" if kind in OURS else f"{kind}: "
    text = f"{where}{name}{message}{did_you_mean(message, source) if kind == 'NameError' else ''}"
    lines = [text, *quoted(line, source)]
    lines += [f"  {advice}" for sign, advice in ADVICE_ON_ERRORS.items() if sign in message]
    return KNOWN_ERRORS.get(kind, kind), lines


def did_you_mean(message: str, source: Sequence[str]) -> str:
    """For "name 'x' is not defined": the name in the file that is most like it."""
    missing = re.search(r"name '(\w+)' is not defined", message)
    if not missing:
        return ""
    known = set(re.findall(r"\w+", "\n".join(source))) - {missing[1]}
    close = difflib.get_close_matches(missing[1], sorted(known), n=1, cutoff=0.75)
    return f"; did you mean `{close[0]}`?" if close else ""


def lines_of_findings(
    findings: Sequence[Found], source: Sequence[str], given: Mapping[int, str] = NOTHING_GIVEN
) -> list[str]:
    """A line for each finding, and below it the line of the student's file that it speaks of.

    source: the lines of that file. given: line -> the function of the exercise, unchanged, that it
    is in. Findings of one cause are told once.
    """
    told = causes(findings)
    groups = groups_of(told)
    lines = []
    for group in groups[:MOST_FINDINGS]:
        found = group[0]
        name = given.get(found.line, "") if found.own else ""
        asked = found.own and (not name or found.kind == "uninitialised")
        more = more_advice(found, source) if asked else []
        said = said_of(found, name)
        if found.kind == "uninitialised" and found.own:
            said = without_questions(said, found.line, source, bool(more))
        lines.append(where_and_what(found, said))
        if found.own:
            lines += quoted(found.line, source)
            lines += [*other_lines(group), *(f"  {advice}" for advice in more)]
        if name and not more:
            lines.append(f"  {IS_GIVEN.format(name)}")
    if any(map(made_of_garbage, told)):
        lines.append(READ_TOO_EARLY)
    if len(groups) > MOST_FINDINGS:
        lines.append(f"and {len(groups) - MOST_FINDINGS} more")
    return lines


def where_and_what(found: Found, said: str) -> str:
    """The first line of a finding; of another file than the student's it has the name, too."""
    within = None if found.own else WITHIN.match(said)
    if within is None:
        return f"line {found.line}: {found.kind}: {said}"
    name, file, rest = within[1], within[2], said[within.end() :]
    return f"{file}, line {found.line}: {found.kind}: in {name}: {rest}"


def said_of(found: Found, given: str = "") -> str:
    """The words of a finding; of an index in another file, without what could be done there.

    given: the function of the exercise, unchanged, that it is in; "" if it is in no such one.
    """
    outside = OUTSIDE.match(found.message)
    if given and found.kind == "out-of-bounds" and outside:
        return outside[0]
    if found.own or not WITHIN.match(found.message):
        return found.message
    return by_its_call(found).message


def by_its_call(found: Found) -> Found:
    """The same, where a function is right, and its arguments are not, for an index."""
    outside = OUTSIDE.match(found.message)
    if found.kind != "out-of-bounds" or outside is None:
        return found
    return found._replace(message=f"{outside[0]}: what is this function called with?")


def made_of_garbage(found: Found) -> bool:
    """Whether an index is made of what results hold before the kernel writes them."""
    said = re.search(r"its shape \(([\d, ]+)\): index (-\d{1,9}) of axis (\d) ", found.message)
    if found.kind != "out-of-bounds" or said is None:
        return False
    lengths = [int(length) for length in re.findall(r"\d{1,9}", said[1])]
    axis, sentinel = int(said[3]), sentinel_of(np.dtype(np.float32))
    return any(
        abs(int(said[2]) - sentinel * factor) < 2 for factor in (1, *lengths[axis : axis + 1])
    )


def causes(findings: Sequence[Found]) -> Sequence[Found]:
    """Without the doubles that follow from others: "`x` is a double since line 5"."""
    first = [found for found in findings if found.kind != "slow" or not follows(found)]
    return first or [found for found in findings if found.own] or findings


def follows(found: Found) -> bool:
    return ("since line" in found.message and "is a double" in found.message) or not found.own


def more_advice(found: Found, source: Sequence[str]) -> list[str]:
    """What to try, where the line itself tells more than the finding."""
    text = "".join(source[max(0, found.line - 1) : found.line])  # "" if there is no such line
    since = re.search(r"since line (\d+)\)?", found.message)
    if "is not defined" in found.message:
        return []
    if found.kind == "slow" and since and int(since[1]) != found.line:
        first = quoted(int(since[1]), source)
        also = f", and make no float64 in line {found.line}" if "float64" in text else ""
        begin = f"begin it as a float32 there: float32(...){also}"
        return [*(line.strip() for line in first), begin]
    if found.kind == "race" and (line := barrier_not_called(source)):
        return [f"cuda.syncthreads is not called in line {line}: write cuda.syncthreads()"]
    if found.kind == "race" and (line := barrier_of_a_warp(found, source)):
        return [
            f"cuda.syncwarp() in line {line} holds the 32 threads of a warp together, and no "
            "others: the whole block waits at cuda.syncthreads()"
        ]
    if found.kind == "uninitialised":
        where = found.message, found.line, source
        return stored_by_some(*where) or about_local_memory(found.message, source)
    if found.kind == "compile" and any(name in found.message for name in ("np.zeros", "np.empty")):
        return [
            "an array of a kernel's own is cuda.shared.array((TILE, TILE), float32), for all "
            "threads of a block, or cuda.local.array(3, float32), for one thread"
        ]
    name = pair_of_grid(found.line, source) if found.kind in ("compile", "unsupported") else ""
    if name:
        return [f"`{name}` holds two numbers: write x, y = cuda.grid(2), or cuda.grid(1) for one"]
    if found.kind == "compile" and hands_over_a_shape(text):
        return ["array.shape is a tuple with a number for each dimension: array.shape[0] is one"]
    if "does not take (" in found.message and "an int64" in found.message:
        return ["cuda.grid gives an int64; with a uint64 that makes a float64: write uint64(...)"]
    no_number = re.search(r" / |float", found.message)
    if found.kind in ("compile", "unsupported") and no_number and divides_an_index(text):
        return ["a whole number is needed there: divide with //, which rounds down, not with /"]
    return []


def barrier_not_called(source: Sequence[str]) -> int:
    """The first line with cuda.syncthreads and no parentheses behind it; 0 if there is none."""
    lines = (n for n, text in enumerate(source, 1) if text.split("#")[0].strip().endswith(BARRIER))
    return next(lines, 0)


def barrier_of_a_warp(found: Found, source: Sequence[str]) -> int:
    """The line of a cuda.syncwarp() between the two lines of a race; 0 if there is none."""
    other = re.search(r"(?:reads|writes) it \(line (\d+)\).*\) between them", found.message)
    if other is None:
        return 0
    first, last = sorted((found.line, int(other[1])))
    between = enumerate(source[first - 1 : last], first)
    return next((n for n, text in between if "cuda.syncwarp(" in text.partition("#")[0]), 0)


def pair_of_grid(line: int, source: Sequence[str]) -> str:
    """The one name in this line that was given the two numbers of cuda.grid(2); "" if none was."""
    if not 1 <= line <= len(source):
        return ""
    for name in re.findall(r"^\s*(\w+)\s*=\s*cuda\.grid\([23]\)", "\n".join(source), re.MULTILINE):
        if re.search(rf"\b{name}\b(?!\s*\[)", source[line - 1]):
            return str(name)
    return ""


def hands_over_a_shape(line: str) -> bool:
    """Whether a line computes with a whole shape, or calls a function with it."""
    tree = syntax_tree(line.strip())
    used: list[ast.AST] = []
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Call):
            used += node.args
        elif isinstance(node, (ast.BinOp, ast.Compare)):
            used += ast.iter_child_nodes(node)
    return any(isinstance(node, ast.Attribute) and node.attr == "shape" for node in used)


def divides_an_index(line: str) -> bool:
    """Whether a line has a `/` within an index, or within what range() is given."""
    text = line.strip()
    tree = syntax_tree(text + " pass" if text.endswith(":") else text)
    if tree is None:
        return False
    for node in ast.walk(tree):
        inner: list[ast.expr] = []
        if isinstance(node, ast.Subscript):
            inner = [node.slice]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            inner = node.args if node.func.id == "range" else []
        for part in inner:
            if any(isinstance(found, ast.Div) for found in ast.walk(part)):
                return True
    return False


def quoted(number: int | None, source: Sequence[str]) -> list[str]:
    """The line of the student's file with this number; nothing if there is none."""
    if number is None or not 1 <= number <= len(source) or not source[number - 1].strip():
        return []
    text = source[number - 1].strip()
    return [f"  {number} | {text[:LONGEST_LINE]}{'...' if len(text) > LONGEST_LINE else ''}"]


def short_number(value: float) -> str:
    """A count for people: 1,234 or 27 or 1.17."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


# ---------------------------------------------------------------- findings of one cause


def groups_of(findings: Sequence[Found]) -> list[Group]:
    """Findings in groups of which each has one cause, in the order in which they were found."""
    groups: dict[tuple[object, ...], Group] = {}
    for found in without_pairs(findings):
        groups.setdefault(cause_of(found), []).append(found)
    return list(groups.values())


def cause_of(found: Found) -> tuple[object, ...]:
    """Alike for readings of one array that nobody has written, one advice on the same lines, and
    indices outside of an array of which the same is said; in code of another file, its function."""
    within = WITHIN.match(found.message)
    if not found.own and found.kind == "out-of-bounds" and within:
        return found.kind, within[0]
    read = IS_READ.search(found.message) if found.own and found.kind == "uninitialised" else None
    if read:
        return found.kind, read[1], read[2]
    array = (
        IS_OUTSIDE.search(found.message) if found.own and found.kind == "out-of-bounds" else None
    )
    if array:
        return found.kind, array[1], array[2]
    if TWO_STEPS in advice_of(found):  # which names the lines, and is said of each pair of them
        return found.kind, advice_of(found)
    alone = found.kind == "race" and found.message.endswith(NO_ORDER)
    return found.kind, lines_of(found), NO_ORDER if alone else advice_of(found) or found.message


def lines_of(found: Found) -> frozenset[int]:
    """The line of a finding, and the other one that its message names."""
    other = OTHER_LINE.search(found.message)
    return frozenset((found.line, int(other[1]) if other else found.line))


def without_pairs(findings: Sequence[Found]) -> list[Found]:
    """Without races of two lines of which each is told to be one by itself."""
    alone = {found.line for found in findings if advice_of(found).startswith(ONE_LINE)}
    return [
        found
        for found in findings
        if not (advice_of(found).startswith(TWO_LINES) and lines_of(found) <= alone)
    ]


def advice_of(found: Found) -> str:
    """What a race's finding says that could be done; "" of other kinds."""
    advice = ADVICE.search(found.message) if found.kind == "race" else None
    return advice[1] if advice else ""


def without_atomics(found: Found) -> Found:
    """The same, where the lesson does its work without atomics, if it tells another way."""
    advice = advice_of(found)
    if "atomic" not in advice or "atomically" in found.message:
        return found
    told, stop, behind = advice.replace("use an atomic, or one", "use one").partition(". ")
    kept = []
    for part in ABOUT_TYPES.sub("", told).split("; "):
        plain = part.rpartition(": ")[0]
        if "atomic" not in part:
            kept.append(part)
        elif plain and "atomic" not in plain:
            kept.append(f"{plain}: {ONE_OWNER}")
    told = ("; ".join(kept) or ONE_OWNER) + stop + behind
    return found._replace(message=found.message.removesuffix(advice) + told)


def other_lines(group: Group) -> list[str]:
    """ "  so it is in line 8", of the findings that are not told."""
    lines = sorted({found.line for found in group} - lines_of(group[0]))
    told = f"  so it is in line{'s' * (len(lines) > 1)} {' and '.join(map(str, lines))}"
    return [told] if lines else []
