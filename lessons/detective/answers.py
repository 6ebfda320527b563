"""Answers of a detective, checked by running: line, kind, witness, and a mended kernel."""

import math
import re
from pathlib import Path

import numpy as np

from kernels.plumbing.errors import InputError
from lessons.course.lesson import ROOT, Check, Lesson, Part
from lessons.detective.breaks import BARRIER, DEADLOCK, KINDS, LOST, RACE
from lessons.detective.cases import Case
from lessons.detective.gather import Gathered
from lessons.detective.running import TOLERANCE, Ran
from lessons.grading.judge.case import Case as Graded
from lessons.grading.judge.explain_failure import NO_EFFORT
from lessons.grading.judge.result import Result
from lessons.grading.judge.run import run_check
from lessons.grading.judge.verdict import Verdict
from lessons.grading.judge.worker_pool import WorkerPool
from lessons.grading.walls.submission import Submission
from lessons.grading.worker.output import Output
from lessons.lab.dimensions import Dim3
from lessons.lab.simulator.findings import Finding
from lessons.lab.simulator.replay.data import linear

POINTS = {"line": 2, "kind": 2, "witness": 2, "mend": 4}
RUNS_OF_MENDED = 4  # inputs with which a mended kernel is run
SECONDS = 60.0
SEEN = {  # of findings
    "deadlock": "the launch does not end; somebody had to stop it",
    "endless": "the launch does not end; somebody had to stop it",
    "barrier": "it ends on some GPUs, and hangs on others",
    "out-of-bounds": "some runs end with an illegal address, others with wrong numbers",
    "race": "most runs are right; in some, the result is another one",
}
SHOWN = 3  # wrong elements that a case shows; another one is a witness
WHICH = r"\s*\(?([\d, ]+)\)?\s*"
THREAD = re.compile(rf"thread{WHICH}of\s+block{WHICH}")
ELEMENT = re.compile(r"(\w+)\s*\[([-\d, ]+)\]\s*$")
SIZE = re.compile(r"(\w+)\s*=\s*(\d+)")
LONGEST = 120  # letters of an answer
HOW = (
    'two threads ("thread 3 of block 0 and thread 4 of block 0"), an element ("out[3, 5]"), or a '
    'smaller input ("n=33 k=4")'
)
Told = tuple[bool, str]  # whether an answer is right, and a sentence about it
Index = tuple[int, ...]
Thread = tuple[Dim3, Dim3]  # its block, and its place there


def named(case: Case, part: str, text: str) -> Told:
    """Check a line, a kind or a witness. Raises `InputError` for what cannot be read."""
    text = " ".join(text[:LONGEST].replace('"', " ").replace("'", " ").split())
    return {"line": named_line, "kind": named_kind, "witness": is_witness}[part](case, text)


def named_line(case: Case, text: str) -> Told:
    last = len(case.wrong.splitlines())
    if not text.isdecimal() or not 1 <= int(text) <= last:
        raise InputError(f"there is no line {text}: the case has lines 1 to {last}")
    right = int(text) in case.lines
    return right, f"line {text}: {'that is the place' if right else 'not here'}"


def named_kind(case: Case, text: str) -> Told:
    wanted = " ".join(text.replace("-", " ").replace("_", " ").lower().split())
    found = [wanted] if wanted in KINDS else [kind for kind in KINDS if kind.startswith(wanted)]
    if len(found) != 1:
        raise InputError(f"{text!r} is no kind: it is one of {', '.join(KINDS)}")
    right = found[0] in case.kinds
    return right, f"{found[0]}: {'yes' if right else 'no'}: {KINDS[found[0]]}"


# ---------------------------------------------------------------- witnesses


def is_witness(case: Case, witness: str) -> Told:
    threads, found = THREAD.findall(witness), ELEMENT.match(witness)
    sizes = {name: int(value) for name, value in SIZE.findall(witness)}
    if len(threads) == 2:
        right, told = two_threads(case, *((whole(block), whole(one)) for one, block in threads))
    elif found:
        right, told = one_element(case, found[1], index_of(found[2]))
    elif sizes:
        right, told = smaller_input(case, sizes)
    else:
        raise InputError(f"{witness!r} is no witness: give {HOW}")
    return right, f"witness: {told}"


def index_of(text: str) -> Index:
    """The numbers of "3, 5". Raises `InputError` for other texts."""
    try:
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise InputError(f"{text!r} is no index: write it like 3, or like 3, 5") from None


def has(shape: Index, index: Index) -> bool:
    """Whether an array of a shape has an element."""
    inside = (0 <= at < size for at, size in zip(index, shape, strict=False))
    return len(shape) == len(index) and all(inside)


def whole(text: str) -> Dim3:
    numbers = index_of(text)
    if not 1 <= len(numbers) <= 3:
        raise InputError(f"{text!r} is no thread or block: write 3, or (3, 4)")
    return (*numbers, 0, 0)[:3]  # type: ignore[return-value]


def two_threads(case: Case, first: Thread, second: Thread) -> Told:
    """Of a race: both touch one element with no barrier between. Of a barrier: one never comes."""
    finding = case.finding
    if finding is None or not {RACE, LOST, BARRIER, DEADLOCK} & set(case.kinds):
        return False, "this is no matter between two threads"
    ran = case.run(case.wrong, record=True)
    report = ran.reports[-1]
    for one in (first, second):
        if np.greater_equal(one, (report.grid, report.block)).any():
            return False, f"the launch has {report.grid} blocks of {report.block} threads"
    reported = (finding.block, finding.thread), (finding.other_block, finding.other_thread)
    if first == second:
        return False, "that is one thread"
    if {first, second} == {*reported}:
        return True, "these two are seen to meet, or to wait for each other"
    counted = [(linear(a, report.grid), linear(b, report.block)) for a, b in (first, second)]
    steps = report.recording.steps if report.recording and finding.kind == "barrier" else []
    waiting = [step.thread.tolist() for step in steps if step.kind == "barrier"][-1:]
    numbers = {block * math.prod(report.block) + thread for block, thread in counted}
    if waiting and first[0] == second[0] and len(numbers & {*waiting[0]}) == 1:
        return True, "one of them waits at the barrier, and the other never comes"
    at = meeting_place(ran, finding, *counted) if finding.kind == "race" else None
    if at is None:
        return False, "not these two"
    return True, (
        f"both touch element {at} of {finding.array}, one of them writes, and nothing is between"
    )


def meeting_place(
    ran: Ran, finding: Finding, first: tuple[int, int], second: tuple[int, int]
) -> int | None:
    """An element that two threads touch, at lines of the race, with no barrier between the two."""
    touched: dict[tuple[int, int], set[tuple[int, int, str]]] = {first: set(), second: set()}
    apart = first[0] != second[0]
    for event in ran.reports[-1].events:
        if event.array != finding.array or event.line not in (finding.line, finding.other_line):
            continue
        if event.kind == "outside" or (apart and event.space != "global"):
            continue  # shared arrays: each block has its own
        for one, found in touched.items():
            own = (event.block == one[0]) & (event.thread == one[1])
            found |= {(int(at), event.phase, event.kind) for at in event.element[own]}
    for at, phase, kind in touched[first]:
        for other, other_phase, other_kind in touched[second]:
            together = at == other and (apart or phase == other_phase)
            if together and {kind, other_kind} not in ({"read"}, {"atomic"}):
                return at
    return None


def one_element(case: Case, name: str, index: Index) -> Told:
    """Outside of its array, read before it is written, or wrong, and not one that is shown."""
    ran = case.run(case.wrong, record=True)
    recordings = [report.recording for report in ran.reports if report.recording]
    arrays = {one.name for recording in recordings for one in recording.arrays}
    if name not in arrays | {*ran.arguments}:
        raise InputError(f"no array is called {name}: there are {', '.join(sorted(arrays))}")
    for recording in recordings:
        for step in recording.steps:
            if step.wanted is None or recording.arrays[step.array].name != name:
                continue
            if index in map(tuple, step.wanted.tolist()):
                return True, f"{name}{list(index)} is outside, and somebody asks for it"
    for finding in ran.findings:
        if finding.kind == "uninitialised" and (finding.array, finding.index) == (name, index):
            return True, f"{name}{list(index)} is read, and nobody has written it"
    wrong = ran.wrong.get(name) if ran.ended else None
    if wrong is None or not has(wrong.shape, index):
        return False, f"{name} has no such element that could be wrong, and nobody asks for it"
    shown = any(line.startswith(f"    {name}{[*index]} ") for line in seen(case))
    if shown and wrong.sum() > SHOWN:
        return False, "that one is shown above: find another one, which you can foretell"
    return bool(wrong[index]), "it is wrong" if wrong[index] else "that one is right"


def smaller_input(case: Case, sizes: dict[str, int]) -> Told:
    """Sizes of which none is larger than the shown one, with half the product, or less."""
    shown = case.sizes(0)
    if {RACE, LOST} & set(case.kinds):
        return False, "of a race, name two threads"
    if not set(sizes) <= set(shown):
        raise InputError(f"the sizes of this case are {', '.join(shown)}")
    chosen = {**shown, **sizes}
    fits = all(1 <= size <= shown[name] for name, size in chosen.items())
    if not fits or 2 * math.prod(chosen.values()) > math.prod(shown.values()):
        return False, "take sizes from 1, none larger than those shown, and their product half"
    right, wrong = (case.run(text, 0, chosen) for text in (case.right, case.wrong))
    if not right.ok:
        return False, "the task means nothing at these sizes"
    return not wrong.ok, "it goes wrong there, too" if not wrong.ok else "there, all is right"


# ---------------------------------------------------------------- a mended kernel


def mended(case: Case, text: bytes, path: Path, workers: WorkerPool) -> Result:
    """Run a mended file as a student's file is graded: in a worker, on inputs drawn anew."""
    gathered = Gathered(case.subject.module, case.subject.launch, case.constants)
    parts = [
        Part(module.replace(".", "/") + ".py", sorted({*file.functions} & {*gathered.functions}))
        for module, file in gathered.files.items()
        if module.startswith("kernels.")
    ]
    blank = [name for part in parts for name in part.functions]  # a mended file gets none of them
    check = Check(
        "mended", "the mended kernel", 4, SECONDS, TOLERANCE, "rounding of sums", [case.launch], []
    )
    double = check._replace(name="doubles", doubles=True)  # so that doubles cost nothing here
    lesson = Lesson(
        case.subject.lesson, "detective", ROOT / "lessons" / "detective", "", 1.0, "", blank, [],
        parts, [check, double], [], [], blank,
    )  # fmt: skip

    def function(verdict: Graded) -> None:
        assert isinstance(verdict, Verdict)
        for number in range(RUNS_OF_MENDED):
            arguments, expected = case.inputs(number)
            verdict.run(case.launch, *arguments.values())
            for name, right in expected.items():
                verdict.expect(arguments[name], right, name)

    submission = Submission(path, text)
    return run_check(function, lesson, check, submission, workers, 0, draw=False, effort=NO_EFFORT)


def shown_lines(case: Case) -> list[str]:
    """What is known: how arrays lie, the sizes, and what was seen."""
    sizes = ", ".join(f"{name}={size}" for name, size in case.sizes(0).items())
    return [*memory(case), f"Seen with {sizes}:", *(f"  {line}" for line in seen(case))]


def memory(case: Case) -> list[str]:
    """A table of the arrays that do not lie as the task names them."""
    if not case.layouts:
        return []
    arguments, _ = case.inputs(0)
    rows = [("in the task", "in memory", "its shape there")]
    for own, layout in case.layouts.items():
        one = arguments[case.names[own]]
        rows.append((*layout.told(case.names[own]), str(getattr(one, "array", one).shape)))
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "How its arrays lie in memory (-1 is the last place of an axis: in code, its size - 1):",
        *(f"  {task:{wide[0]}}   {lies:{wide[1]}}   {shape}" for task, lies, shape in rows),
        "No other places are used. From here on, an element is named by its place in memory.",
        "",
    ]


def seen(case: Case) -> list[str]:
    """What somebody sees who runs the broken kernel: no line, and no cause."""
    ran = case.run(case.wrong)
    if ran.error:
        return [f"the host stops: {ran.error}"]
    if ran.findings and ran.findings[0].kind in SEEN:
        return [SEEN[ran.findings[0].kind]]
    lines = []
    for name, wrong in ran.wrong.items():
        if not wrong.any():
            lines.append(f"{name} is right")
            continue
        lines.append(f"{wrong.sum()} of {wrong.size} elements of {name} are wrong, such as")
        for index in np.argwhere(wrong)[:SHOWN].tolist():
            lines.append(f"    {element(case, ran, name, tuple(index))}")
    return lines


def element(case: Case, ran: Ran, name: str, place: Index) -> str:
    """What an element is after a run, and what it should be. Raises `IndexError` outside."""
    output = ran.arguments[name]
    values = output.array if isinstance(output, Output) else output
    told = f"{name}{list(place)}"
    layout = next((one for own, one in case.layouts.items() if case.names[own] == name), None)
    if layout and len(place) == values.ndim:
        index = layout.index_of(place, values.shape)
        told += f" (in the task {name}{list(index)})" if index else " (which is not used)"
    untouched = isinstance(output, Output) and values[place] == output.sentinel
    told += " is what was there before" if untouched else f" is {values[place]:.7g}"
    right = ran.expected.get(name)
    return told if right is None else f"{told}; it should be {np.asarray(right)[place]:.7g}"
