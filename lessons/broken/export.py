"""`python -m lessons mistakes export --to FILE.jsonl`: all known mistakes as one file for others.

A line per kernel, or per program of several launches on the same arrays: what is wrong, where, a
witness, and the mended program. lessons/GRADING.md says what stands in a line. Each is run before
it is written, from its own text alone.
"""

import argparse
import base64
import difflib
import functools
import json
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from kernels.files.atomic import refuse_to_replace, write_atomically
from kernels.plumbing.errors import InputError
from lessons.broken import reader
from lessons.broken.kinds import KIND_OF_FINDING, kind_of_difference, kind_of_text
from lessons.broken.recorder import BUDGET, Launch, Program, Run, module_of, shown_in
from lessons.broken.sources import Unfit, one_text
from lessons.course.exercises import solution_text
from lessons.course.lesson import Check, Lesson, find_lesson, lessons
from lessons.course.mistakes import Entry, entries, file_of, find_entry
from lessons.grading.judge.run import checks_of
from lessons.grading.worker.output import Output
from lessons.lab.simulator.findings import Finding
from lessons.lab.simulator.run import checked_run

LICENCE = "MIT-0"
MOST_BYTES = 150_000  # of a line
OURS = "ours"  # the name of the line with our solution

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
    made = list(tqdm(all_lines(tasks, options.jobs), total=len(tasks), unit="entry"))
    lines = [line for line, _ in made if line]
    content = "".join(line + "\n" for line in lines).encode()
    write_atomically(options.to, lambda file: file.write(content), options.overwrite)
    print(f"{options.to}: {len(lines)} kernels, {len(content):,} bytes")
    for why, count in Counter(why for line, why in made if not line).most_common():
        print(f"  left out: {count:4}  {why}")
    return 0


def tasks_of(lesson: Lesson) -> list[tuple[str, str]]:
    """(number of the lesson, name of an entry) of each; of our solution, once per check."""
    ours = [(lesson.number, f"{OURS} {check.name}") for check in lesson.checks if not check.gpu]
    named = [(lesson.number, entry.name) for entry in entries(lesson)]
    return [*ours, *named] if named else []


def all_lines(tasks: Sequence[tuple[str, str]], jobs: int) -> Iterator[tuple[str, str]]:
    if jobs == 1:
        yield from map(line_of, tasks)
        return
    with ProcessPoolExecutor(jobs) as processes:
        yield from processes.map(line_of, tasks, chunksize=4)


def line_of(task: tuple[str, str]) -> tuple[str, str]:
    """(the line of an entry, ""), or ("", why there is none)."""
    lesson = find_lesson(task[0])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            line = json.dumps(record_of(lesson, task[1]), separators=(",", ":"), allow_nan=False)
    except Unfit as unfit:
        return "", str(unfit)
    if len(line) > MOST_BYTES:
        return "", "a line of more than 150,000 bytes"
    return line, ""


# ---------------------------------------------------------------- one entry


def told(lesson: Lesson, name: str) -> tuple[str, str, str, bool, list[str]]:
    """(entry's name, sentence, text of the file, whether right, checks that are tried)."""
    if name.startswith(f"{OURS} "):
        return name, "Our solution.", solution_text(lesson), True, [name.split()[1]]
    entry: Entry = find_entry(lesson, name)
    names = [check.name for check in lesson.checks if not check.gpu]
    names.sort(key=lambda one: one != entry.check)
    return name, entry.sentence, file_of(lesson, entry), entry.kind != "wrong", names


def record_of(lesson: Lesson, task: str) -> Record:
    """The line of an entry. Raises `Unfit` if there is none."""
    name, sentence, text, right, names = told(lesson, task)
    check, run, recipes = first_shown(lesson, text, right, names)
    if run.wrong.error:
        raise Unfit("the host's function ends in an error")
    record: Record = {
        "name": f"{lesson.number}/{name.replace(' ', '/')}", "lesson": lesson.number,
        "entry": name, "right": right, "kind": "right" if right else "", "sentence": sentence,
        "line": 0, "witness": {}, "kernel": as_told(run.wrong), "mended": as_told(run.right),
        "arrays": list(told_arrays(run, recipes)), "expected": told_expected(run, check),
        "licence": LICENCE,
    }  # fmt: skip
    findings, arrays = replayed(record, record["kernel"])
    fine, ours = replayed(record, record["mended"])
    if fine or reader.wrong_arrays(record, ours):
        raise Unfit("our solution does not come out as it did")
    wrong = reader.wrong_arrays(record, arrays)
    if right and wrong:
        raise Unfit("a right way whose numbers are not ours")
    if not right:
        if not findings and not wrong:
            raise Unfit("a mistake that does not show again")
        record |= what_is_wrong(record, findings, arrays, wrong)
    return record


def first_shown(
    lesson: Lesson, text: str, right: bool, names: Sequence[str]
) -> tuple[Check, Run, dict[int, Any]]:
    """The first run in which a mistake shows, of the first check that has one. Raises `Unfit`."""
    why = "right numbers: a budget or the text of the file tells it"
    for name in names:
        check = lesson.check(name)
        solution = solution_of(lesson.number)
        try:
            run, recipes = shown_in(
                lesson, check, functions(lesson.number)[name], text, solution, right
            )
        except Unfit as unfit:
            why = str(unfit)
            continue
        except Exception as error:  # a check is not written for what this one does
            why = f"the check ends in {type(error).__name__}"
            continue
        if run:
            return check, run, recipes
    raise Unfit(why)


@functools.cache
def functions(number: str) -> dict[str, Any]:
    return checks_of(find_lesson(number))


@functools.cache
def solution_of(number: str) -> Any:
    return module_of(solution_text(find_lesson(number)), f"ours_{number}")


# ---------------------------------------------------------------- as JSON


def as_told(program: Program) -> Record:
    kernels: list[Any] = []
    for launch in program.launches:
        if not any(launch.kernel is one for one in kernels):
            kernels.append(launch.kernel)
    text, names = one_text(kernels)

    def as_json(launch: Launch) -> Record:
        (number,) = [n for n, one in enumerate(kernels) if one is launch.kernel]
        return {
            "kernel": names[number], "grid": launch.grid, "block": launch.block, "shared": 0,
            "arguments": launch.arguments,
        }  # fmt: skip

    return {"source": text, "launches": [as_json(launch) for launch in program.launches]}


def told_arrays(run: Run, recipes: dict[int, Any]) -> Iterator[Record]:
    for name, original, before in zip(named_arrays(run), run.originals, run.before, strict=True):
        told = {"name": name, "shape": list(before.shape), "dtype": before.dtype.name}
        if isinstance(original, Output) and original.initial is None:
            told["garbage"] = True  # the kernel has to write it
        drawn = [
            recipe
            for _, values, recipe in recipes.values()
            if values.shape == before.shape and values.tobytes() == before.tobytes()
        ]
        if drawn and before.size > 8:
            yield told | drawn[0]
        elif before.size and np.isfinite(before.flat[0]) and (before == before.flat[0]).all():
            yield told | {"full": before.flat[0].item()}
        else:
            yield told | {"values": packed(before)}


def named_arrays(run: Run) -> list[str]:
    """Names as the kernel calls them, if it is plain; else where they stand among arguments."""
    names = list(run.names)
    for launch in reversed(run.right.launches):
        code = getattr(launch.kernel, "py_func", launch.kernel).__code__
        for parameter, item in zip(code.co_varnames, launch.arguments, strict=False):
            if isinstance(item, dict) and "array" in item:
                names[item["array"]] = parameter
    return [f"{name}_{n}" if names.index(name) < n else name for n, name in enumerate(names)]


def told_expected(run: Run, check: Check) -> list[Record]:
    return [
        {"array": number, "tolerance": 2 * allowed, "values": packed(run.right.arrays[number])}
        for number, allowed in sorted(run.tolerances(check.tolerance).items())
    ]


def packed(array: np.ndarray) -> str:
    return base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes(), 9)).decode()


# ---------------------------------------------------------------- run again, from the line alone


def replayed(record: Record, program: Record) -> tuple[list[Finding], list[np.ndarray]]:
    """(what the simulator finds, all arrays afterwards)."""
    findings: list[Finding] = []

    def start(kernel: Any, grid: Any, block: Any, shared: int, arguments: Any) -> None:
        with np.errstate(all="ignore"):
            report = checked_run(
                kernel, grid, block, *arguments, measure=False, budget=BUDGET, ask_numba=False,
                negative=False, dynamic_shared=shared,
            )  # fmt: skip
        findings.extend(report.problems)

    arrays = reader.run(json.loads(json.dumps(record)), program, start)
    return findings, arrays


def what_is_wrong(
    record: Record, findings: list[Finding], arrays: list[np.ndarray], wrong: dict[str, np.ndarray]
) -> Record:
    """The fields kind, line and witness, and what our simulator says."""
    kernel, mended = record["kernel"], record["mended"]
    kind = kind_of_text(kernel, mended)
    if findings:
        first = findings[0]
        kind = kind or KIND_OF_FINDING.get(first.kind, first.kind)
        place = {key: value for key, value in first.place._asdict().items() if value is not None}
        place.pop("other_file", None)
        return {"kind": kind, "line": first.line, "witness": place, "finding": first.message}
    name, indices = next(iter(wrong.items()))
    (number,) = [n for n, one in enumerate(record["arrays"]) if one["name"] == name]
    (told,) = [one for one in record["expected"] if one["array"] == number]
    got = arrays[number]
    right = reader.unpacked(told["values"], got.dtype, got.shape)
    kind = kind or kind_of_difference(got, right, record["arrays"][number])
    index = tuple(indices[0].tolist())
    witness = {"array": name, "index": index, "got": str(got[index]), "right": str(right[index])}
    return {
        "kind": kind,
        "line": first_change(kernel["source"], mended["source"]),
        "witness": witness,
    }


def first_change(text: str, mended: str) -> int:
    """The first line of a text that another one has not; 0 if there is none."""
    lines, other = text.splitlines(), mended.splitlines()
    for what, first, *_ in difflib.SequenceMatcher(None, lines, other, False).get_opcodes():
        if what != "equal":
            return min(first + 1, len(lines))
    return 0
