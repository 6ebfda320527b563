"""Who finds what in broken kernels: our simulator, Numba's, compute-sanitizer on a GPU.

    python -m lessons mistakes export --to broken.jsonl
    python -m benchmarks.broken_kernels broken.jsonl --save broken-kernels

A sample is drawn by seed: some of each kind, and right ones, of which a tool should say nothing.
Each tool runs the same lines, many of them in one process; one that stops or hangs a process costs
no other: the next process begins behind it. What BROKEN.md says of the columns is counted here.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from tqdm import tqdm

from benchmarks.broken_driver import BEGIN, END
from benchmarks.machine import RESULTS, description
from kernels.plumbing.errors import InputError

OURS, NUMBAS, PLAIN = "our simulator", "Numba's simulator", "GPU alone"
SANITIZERS = "memcheck", "racecheck", "initcheck", "synccheck"
TOOLS = (OURS, NUMBAS, PLAIN, *SANITIZERS)
ENGINES = {OURS: "checked", NUMBAS: "numba"}  # of broken_driver; all others: gpu
FOUND, SEEN, MISSED, NOT_RUN = "found", "only seen", "missed", "not run"

HANG, ENDED = "hang", "ended with status"
PER_PROCESS = 25
MOST_PRINTED = 40  # lines of a process that are kept, to say why a tool does not run
SECONDS_TO_START = 60.0
SECONDS_PER_KERNEL = {OURS: 30.0, NUMBAS: 20.0, PLAIN: 15.0}  # else of a tool:
SECONDS_UNDER_TOOL = 25.0
AT_LEAST = 12  # of each kind, if there are so many

# How a report of compute-sanitizer begins. The kernel's name stands there, or in the next line.
HEADLINE = re.compile(
    r"=+ (?:Invalid __|Misaligned |Uninitialized |Barrier error|Warp |Out-of-range |Illegal |Stack "
    r"|(?:Error|Warning): Race reported|(?:ERROR|WARN)\w*: .*hazard)"
)
MODULE = re.compile(r"kernel(\d+)x")  # as Numba's names of kernels have it
REFUSED = re.compile(r"not supported|Unable to|not found|error 999|LibraryNotLoaded", re.IGNORECASE)


# ---------------------------------------------------------------- the sample


def read(path):
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; {__doc__.split()[0]}") from None
    return [json.loads(line) for line in lines]


def sample(records, wrong, right, seed):
    """So many wrong and right records, in the order of the file, of each kind at least some."""
    rng = np.random.default_rng(seed)
    kinds = Counter(record["kind"] for record in records if not record["right"])
    chosen = set()
    for kind in sorted(kinds):
        numbers = [n for n, one in enumerate(records) if one["kind"] == kind]
        chosen.update(drawn(rng, numbers, AT_LEAST))
    rest = [n for n, one in enumerate(records) if not one["right"] and n not in chosen]
    chosen.update(drawn(rng, rest, wrong - len(chosen)))
    chosen.update(drawn(rng, [n for n, one in enumerate(records) if one["right"]], right))
    return [records[number] for number in sorted(chosen)]


def drawn(rng, numbers, count):
    return rng.permutation(numbers)[: max(0, count)].tolist()


def tasks_of(records, program, folder):
    """What the driver is given: each text in a file of its own, under a name that tools print."""
    tasks = []
    for number, record in enumerate(records):
        module = f"kernel{number}x"
        file = folder / f"{module}_{program}.py"
        file.write_text(record[program]["source"], encoding="utf-8")
        tasks.append({"record": record, "program": program, "module": module, "file": str(file)})
    return tasks


# ---------------------------------------------------------------- one process after another


class Chunk:
    """Some tasks under one tool; `outcomes` is what came of each, None for what was not reached."""

    def __init__(self, tool, tasks, numbers, folder, deadline):
        self.tool, self.tasks, self.numbers, self.deadline = tool, tasks, numbers, deadline
        self.file = folder / f"tasks_{tool.replace(' ', '_')}_{numbers[0]}_{id(self)}.json"
        self.file.write_text(json.dumps(tasks), encoding="utf-8")
        self.outcomes = [None] * len(tasks)
        self.reported = [set() for _ in tasks]
        self.printed = []  # of what no marker claims: why a tool does not run

    def run(self):
        first = 0
        while first < len(self.tasks) and time.monotonic() < self.deadline:
            reached = self.run_from(first)
            if reached < first:  # it did not even begin: that will not change
                break
            first = reached + 1
        return self

    def run_from(self, first):
        """Run a process from a task on; returns the last one that it began, or first - 1."""
        process = subprocess.Popen(
            command(self.tool, self.file, first),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            env=environment(self.tool), start_new_session=True, cwd=Path(__file__).parent.parent,
        )  # fmt: skip
        reader = Reader(self, first - 1)
        thread = threading.Thread(target=reader.read, args=(process.stdout,), daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(0.2)
            if time.monotonic() > min(reader.until, self.deadline):
                with_its_children(process)
                thread.join(5.0)
                if reader.at >= first and self.outcomes[reader.at] is None:
                    late = time.monotonic() > self.deadline
                    self.outcomes[reader.at] = None if late else {"error": HANG}
                break
        with_its_children(process)
        process.wait()
        if reader.at >= first and self.outcomes[reader.at] is None:
            if time.monotonic() < self.deadline:
                self.outcomes[reader.at] = {"error": f"{ENDED} {process.returncode}"}
        return reader.at


def with_its_children(process):
    """End a process that we have started, and those that it has."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Reader:
    """Reads what a process prints; knows which task is at work, and until when it may be."""

    def __init__(self, chunk, at):
        self.chunk, self.at = chunk, at
        self.until = time.monotonic() + SECONDS_TO_START
        self.report = ""  # whose kernel the next line may name

    def read(self, lines):
        for line in lines:
            if line.startswith((BEGIN, END)):
                self.keep(None)
                self.mark(*line.split(" ", 2))
            else:
                self.note(line)
        self.keep(None)

    def mark(self, what, number, outcome):
        self.at = int(number)
        allowed = SECONDS_PER_KERNEL.get(self.chunk.tool, SECONDS_UNDER_TOOL)
        self.until = time.monotonic() + allowed
        if what == END:
            self.chunk.outcomes[self.at] = json.loads(outcome)

    def note(self, line):
        """A line of a tool's."""
        if len(self.chunk.printed) < MOST_PRINTED:
            self.chunk.printed.append(line.strip())
        named, is_report = MODULE.search(line), HEADLINE.match(line)
        self.keep(None if is_report else named)
        if is_report:
            self.report = line.strip("= \n")[:100]
            if named:
                self.keep(named)

    def keep(self, named):
        """Count the last report to the kernel that it names, else to the one at work."""
        report, self.report = self.report, ""
        number = self.chunk.numbers.index(int(named[1])) if named else self.at
        if report and number >= 0:
            self.chunk.reported[number].add(report)


def command(tool, file, first):
    engine = ENGINES.get(tool, "gpu")
    driver = [sys.executable, "-m", "benchmarks.broken_driver", engine, str(file), str(first)]
    if tool not in SANITIZERS:
        return driver
    return [
        sanitizer(),
        "--tool",
        tool,
        "--print-limit",
        "1000000",
        "--show-backtrace",
        "no",
        *driver,
    ]


def sanitizer():
    beside = "/usr/local/cuda/bin/compute-sanitizer"
    return shutil.which("compute-sanitizer") or (beside if Path(beside).exists() else "")


def environment(tool):
    own = {
        "OMP_NUM_THREADS": "1",
        "NUMBA_NUM_THREADS": "1",
        "NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS": "0",
    }
    if tool == NUMBAS:
        own["NUMBA_ENABLE_CUDASIM"] = "1"
    if tool in (OURS, NUMBAS):
        own["CUDA_VISIBLE_DEVICES"] = ""
    return {**os.environ, "PYTHONWARNINGS": "ignore", **own}


# ---------------------------------------------------------------- all tools


def run_tool(tool, tasks, numbers, folder, jobs, deadline):
    """What came of each task: (outcome or None, reports of the tool)."""
    parts = max(jobs, -(-len(tasks) // PER_PROCESS))
    shares = [list(range(n, len(tasks), parts)) for n in range(min(parts, len(tasks)))]
    chunks = [
        Chunk(tool, [tasks[n] for n in share], [numbers[n] for n in share], folder, deadline)
        for share in shares
    ]
    with ThreadPoolExecutor(jobs) as threads:
        list(tqdm(threads.map(Chunk.run, chunks), total=len(chunks), desc=tool))
    made = {
        n: (chunk.outcomes[place], sorted(chunk.reported[place]))
        for share, chunk in zip(shares, chunks, strict=True)
        for place, n in enumerate(share)
    }
    return [made[n] for n in range(len(tasks))]


def refusal(tool, tasks, folder):
    """Why a tool does not run on this machine; "" if it does. It tries a right kernel."""
    if tool in ENGINES:
        return ""
    if tool in SANITIZERS and not sanitizer():
        return "compute-sanitizer is not installed"
    number = next(n for n, task in enumerate(tasks) if task["record"]["right"])
    chunk = Chunk(tool, [tasks[number]], [number], folder, time.monotonic() + 90).run()
    outcome = chunk.outcomes[0] or {"error": "it did not begin"}
    if "error" not in outcome:
        return ""
    said = [line for line in chunk.printed if REFUSED.search(line)]
    return (said or [outcome["error"]])[0][:200]


def column(tool, outcome, reported):
    """In which column a line counts, of a broken kernel or a right one."""
    if reported:
        return FOUND
    if outcome is None:
        return NOT_RUN
    error = outcome.get("error", "")
    if error.startswith((HANG, ENDED)) or (tool in SANITIZERS and outcome.get("sticky")):
        return SEEN
    if error and tool in SANITIZERS:
        return NOT_RUN
    if error or outcome["found"]:
        return FOUND
    return SEEN if outcome["wrong"] else MISSED


def without_its_gaps(results, mended):
    """Numba's simulator lacks some functions: what stops the mended kernel, too, was not run."""
    return [
        (None, []) if outcome and "error" in outcome and other and "error" in other else one
        for one, (other, _) in zip(results, mended, strict=True)
        for outcome in one[:1]
    ]


def table(records, results):
    """kind -> {"kernels": n, tool: {column: n}}; the kind of right ones is "right"."""
    found = {}
    for number, record in enumerate(records):
        row = found.setdefault(record["kind"], {"kernels": 0})
        row["kernels"] += 1
        for tool, outcomes in results.items():
            what = column(tool, *outcomes[number])
            counts = row.setdefault(tool, {})
            counts[what] = counts.get(what, 0) + 1
    return dict(sorted(found.items(), key=lambda item: (item[0] == "right", item[0])))


def compare(records, tools, folder, jobs, seconds):
    """(results of each tool, why others did not run)."""
    end = time.monotonic() + seconds
    tasks, numbers = tasks_of(records, "kernel", folder), list(range(len(records)))
    results, refused = {}, {}
    for place, tool in enumerate(tools):
        began = time.monotonic()
        share = (end - began) / (len(tools) - place)
        deadline = min(end, began + 1.5 * share)  # so that the last one gets its turn
        why = refusal(tool, tasks, folder)
        if why:
            refused[tool] = why
            print(f"{tool} does not run here: {why}", flush=True)
            continue
        results[tool] = run_tool(tool, tasks, numbers, folder, jobs, deadline)
        if tool == NUMBAS:
            failed = [n for n, (one, _) in enumerate(results[tool]) if one and "error" in one]
            mended = [tasks_of(records, "mended", folder)[n] for n in failed]
            again = run_tool(tool, mended, failed, folder, jobs, deadline) if mended else []
            others = dict(zip(failed, again, strict=True))
            pairs = [others.get(n, (None, [])) for n in numbers]
            results[tool] = without_its_gaps(results[tool], pairs)
        print(f"{tool}: {time.monotonic() - began:.0f} s", flush=True)
    return results, refused


def markdown(rows, tools):
    """The table of BROKEN.md: found, only seen, missed; what was not run stands in brackets."""
    yield f"| kind | kernels | {' | '.join(tools)} |"
    yield "|---" * (len(tools) + 2) + "|"
    for kind, row in rows.items():
        yield f"| {kind} | {row['kernels']} | {' | '.join(cell(row[tool]) for tool in tools)} |"


def cell(counts):
    said = " / ".join(str(counts.get(one, 0)) for one in (FOUND, SEEN, MISSED))
    return said + (f" ({counts[NOT_RUN]})" if NOT_RUN in counts else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="that `python -m lessons mistakes export` has written")
    parser.add_argument("--wrong", type=int, default=420, help="broken kernels to draw")
    parser.add_argument("--right", type=int, default=80, help="right ones to draw")
    parser.add_argument("--seed", type=int, default=38)
    parser.add_argument("--tools", nargs="*", default=list(TOOLS), choices=TOOLS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--seconds", type=float, default=450, help="for all tools together")
    parser.add_argument("--save", help="write benchmarks/results/SAVE.json, or a path that ends so")
    parser.add_argument("--outcomes", type=Path, help="write what came of each line, for a look")
    options = parser.parse_args()
    records = sample(read(options.file), options.wrong, options.right, options.seed)
    with tempfile.TemporaryDirectory() as name:
        os.environ["NUMBA_CACHE_DIR"] = str(Path(name) / "cache")
        found = compare(records, options.tools, Path(name), options.jobs, options.seconds)
    results, refused = found
    if options.outcomes:
        names = [record["name"] for record in records]
        told = {tool: dict(zip(names, each, strict=True)) for tool, each in results.items()}
        options.outcomes.write_text(json.dumps(told, indent=0), encoding="utf-8")
    rows = table(records, results)
    print("\n".join(markdown(rows, results)))
    if options.save:
        path = Path(options.save)
        path = path if path.suffix == ".json" else RESULTS / f"{options.save}.json"
        ours = results.get(OURS, [(None, [])] * len(records))
        missed = [r["name"] for r, one in zip(records, ours, strict=True) if is_surprise(r, one)]
        saved = {"machine": description(), "refused": refused, "kinds": rows, "surprises": missed}
        path.write_text(json.dumps(saved, indent=1) + "\n", encoding="utf-8")


def is_surprise(record, result):
    """Whether ours says something of a right kernel, or nothing of one with a finding in it."""
    found = column(OURS, *result) == FOUND
    return found if record["right"] else "finding" in record and not found


if __name__ == "__main__":
    main()
