"""`python -m lessons mistakes export --to FILE.jsonl`: all known mistakes as one file for others.

A line per kernel, or per program of several launches on the same arrays: what is wrong, where, a
witness, and the mended program. README.md says what stands in a line. Each is run before
it is written, from its own text alone.
"""

import argparse
import base64
import difflib
import functools
import json
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from kernels.files.atomic import refuse_to_replace, write_atomically
from kernels.plumbing.errors import InputError
from lessons.broken import reader
from lessons.broken.kinds import OF_FINDING, kind_of_difference, kind_of_text
from lessons.broken.recorder import CHECKED, Program, Run, module_of, shown_in
from lessons.broken.sources import Unfit, one_text
from lessons.course.exercises import solution_text
from lessons.course.lesson import Lesson, find_lesson, lessons
from lessons.course.mistakes import entries, file_of, find_entry
from lessons.grading.judge.run import checks_of
from lessons.grading.worker.output import Output
from lessons.lab.simulator.findings import Finding
from lessons.lab.simulator.run import checked_run

MOST_BYTES = 150_000  # of a line
OURS = "ours"  # begins the name of a line with our solution

Record = dict[str, Any]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to", type=Path, required=True, metavar="FILE.jsonl", help="where to")
    parser.add_argument("--overwrite", action="store_true", help="replace a file of that name")
    parser.add_argument("--lesson", action="append", metavar="N", help="of this lesson only")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each Nth entry only")
    parser.add_argument("--jobs", type=int, default=1, help="entries at a time")


def export(options: argparse.Namespace) -> int:
    """The command. Raises `InputError` if the file cannot be written."""
    if options.every < 1 or options.jobs < 1:
        raise InputError("--every and --jobs are numbers from 1 on")
    refuse_to_replace(options.to, options.overwrite)
    chosen = [find_lesson(number) for number in options.lesson] if options.lesson else lessons()
    tasks = [task for lesson in chosen for task in tasks_of(lesson)][:: options.every]
    if not tasks:
        raise InputError("this copy of the course has no mistakes: ask your instructor")
    with ProcessPoolExecutor(options.jobs) as processes:
        each = processes.map(line_of, tasks, chunksize=4)
        made = list(tqdm(each, total=len(tasks), unit="entry"))
    lines = [f"{line}\n" for line, _ in made if line]
    content = "".join(lines).encode()
    write_atomically(options.to, lambda file: file.write(content), options.overwrite)
    print(f"{options.to}: {len(lines)} kernels, {len(content):,} bytes")
    for why, count in Counter(why for line, why in made if not line).most_common():
        print(f"  left out: {count:4}  {why}")
    return 0


def tasks_of(lesson: Lesson) -> list[tuple[str, str]]:
    """(number of the lesson, name of an entry) of each; of our solution, once per check."""
    ours = [(lesson.number, f"{OURS}/{check.name}") for check in lesson.checks if not check.gpu]
    named = [(lesson.number, entry.name) for entry in entries(lesson)]
    return [*ours, *named] if named else []


def line_of(task: tuple[str, str]) -> tuple[str, str]:
    """(the line of an entry, ""), or ("", why there is none)."""
    try:
        record = record_of(find_lesson(task[0]), task[1])
    except Unfit as unfit:
        return "", str(unfit)
    line = json.dumps(record, separators=(",", ":"), allow_nan=False)
    return (line, "") if len(line) <= MOST_BYTES else ("", "a line of more than 150,000 bytes")


# ---------------------------------------------------------------- one entry


def record_of(lesson: Lesson, name: str) -> Record:
    """The line of an entry. Raises `Unfit` if there is none."""
    of, _, check = name.partition("/")
    sentence, text, right, first = "Our solution.", solution_text(lesson), True, check
    if of != OURS:
        entry = find_entry(lesson, name)
        sentence, text, right = entry.sentence, file_of(lesson, entry), entry.kind != "wrong"
        first = entry.check
    names = [check] if check else [one.name for one in lesson.checks if not one.gpu]
    names.sort(key=lambda one: one != first)
    run, recipes = first_shown(lesson, text, right, names)
    if run.wrong.error:
        raise Unfit("the host's function ends in an error")
    record: Record = {
        "name": f"{lesson.number}/{name}", "lesson": lesson.number, "entry": name, "right": right,
        "kind": "right", "sentence": sentence, "line": 0, "witness": {},
        "kernel": as_told(run.wrong), "mended": as_told(run.right), "arrays": arrays(run, recipes),
        "expected": [
            {"array": n, "tolerance": 2 * allowed, "values": packed(run.right.arrays[n])}
            for n, allowed in sorted(run.compared.items())
        ],
        "licence": "MIT-0",
    }  # fmt: skip
    record = json.loads(json.dumps(record))
    findings, wrong = replayed(record, record["kernel"])
    if any(replayed(record, record["mended"])):
        raise Unfit("our solution does not come out as it did")
    if right and wrong:
        raise Unfit("a right way whose numbers are not ours")
    if not (right or findings or wrong):
        raise Unfit("a mistake that does not show again")
    return record if right else record | what_is_wrong(record, findings, wrong)


def first_shown(
    lesson: Lesson, text: str, right: bool, names: Sequence[str]
) -> tuple[Run, list[Any]]:
    """The first run in which a mistake shows, of the first check that has one. Raises `Unfit`."""
    why = "right numbers: a budget or the text of the file tells it"
    solution, functions = of_lesson(lesson.number)
    for name in names:
        try:
            check = lesson.check(name)
            run, recipes = shown_in(lesson, check, functions[name], text, solution, right)
        except Unfit as unfit:
            why = str(unfit)
        except Exception as error:  # a check is not written for what this one does
            why = f"the check ends in {type(error).__name__}"
        else:
            if run:
                return run, recipes
    raise Unfit(why)


@functools.cache
def of_lesson(number: str) -> tuple[Any, dict[str, Callable]]:
    """Our solution as a module, and the functions of the checks."""
    lesson = find_lesson(number)
    return module_of(solution_text(lesson)), checks_of(lesson)


def as_told(program: Program) -> Record:
    kernels = [*{id(one["kernel"]): one["kernel"] for one in program.launches}.values()]
    text, names = one_text(kernels)
    known = {id(kernel): name for kernel, name in zip(kernels, names, strict=True)}
    launches = [one | {"kernel": known[id(one["kernel"])]} for one in program.launches]
    return {"source": text, "launches": launches}


def arrays(run: Run, recipes: list[Any]) -> list[Record]:
    """How the arrays of a run are made, each named as the first kernel calls it."""
    names = {}
    for launch in reversed(run.right.launches):
        parameters = launch["kernel"].py_func.__code__.co_varnames
        for parameter, item in zip(parameters, launch["arguments"], strict=False):
            if isinstance(item, dict) and "array" in item:
                names[item["array"]] = parameter
    told = []
    for number, (original, before) in enumerate(zip(run.originals, run.before, strict=True)):
        one = {"name": names.get(number, f"array {number}")}
        one |= {"shape": before.shape, "dtype": before.dtype.name}
        if isinstance(original, Output) and original.initial is None:
            one["garbage"] = True  # a kernel has to write it
        told.append(one | recipe_of(before, recipes))
    return told


def recipe_of(array: np.ndarray, recipes: list[Any]) -> Record:
    for content, shape, recipe in recipes:
        if shape == array.shape and content == array.tobytes():
            return recipe
    first = array.flat[0] if array.size else 0
    if np.isfinite(first) and (array == first).all():
        return {"full": np.asarray(first).item()}
    return {"values": packed(array)}


def packed(array: np.ndarray) -> str:
    return base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes(), 9)).decode()


# ---------------------------------------------------------------- run again, from the line alone


def replayed(record: Record, program: Record) -> tuple[list[Finding], Record]:
    """(what the simulator finds, the kind and witness of the first wrong number, if any)."""
    findings: list[Finding] = []

    def start(kernel: Any, grid: Any, block: Any, shared: int, given: Any) -> None:
        with np.errstate(all="ignore"):
            report = checked_run(kernel, grid, block, *given, dynamic_shared=shared, **CHECKED)
        findings.extend(report.problems)

    left = reader.run(record, program, start)
    for number, indices in reader.wrong_arrays(record, left).items():
        recipe, got = record["arrays"][number], left[number]
        (told,) = [one["values"] for one in record["expected"] if one["array"] == number]
        right = reader.unpacked(told, got.dtype, got.shape)
        index = tuple(indices[0].tolist())
        numbers = {"got": str(got[index]), "right": str(right[index])}
        kind = kind_of_difference(got, right, recipe)
        return findings, {
            "kind": kind, "witness": {"array": recipe["name"], "index": index, **numbers}
        }  # fmt: skip
    return findings, {}


def what_is_wrong(record: Record, findings: list[Finding], wrong: Record) -> Record:
    """The fields kind, line and witness; with a finding, what our simulator says."""
    kernel, mended = record["kernel"], record["mended"]
    kind = kind_of_text(kernel, mended)
    if not findings:
        line = first_change(kernel["source"].splitlines(), mended["source"].splitlines())
        return wrong | {"kind": kind or wrong["kind"], "line": line}
    first = findings[0]
    place = {key: value for key, value in first.place._asdict().items() if value is not None}
    place.pop("other_file", None)
    kind = kind or OF_FINDING.get(first.kind, first.kind)
    return {"kind": kind, "line": first.line, "witness": place, "finding": first.message}


def first_change(lines: list[str], others: list[str]) -> int:
    """Number of the first line that is changed, of those of a text; 0 if there is none."""
    changes = difflib.SequenceMatcher(None, lines, others, False).get_opcodes()
    begins = (min(first + 1, len(lines)) for what, first, *_ in changes if what != "equal")
    return next(begins, 0)
