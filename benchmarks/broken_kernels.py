"""Who finds what in broken kernels: our simulator, Numba's, compute-sanitizer on a GPU.

    python -m lessons mistakes export --to broken.jsonl
    python -m benchmarks.broken_kernels broken.jsonl --save broken-kernels

A sample is drawn by seed: some of each kind, and right ones, of which a tool should say nothing.
Each tool runs the same lines, many of them in one process; one that stops or hangs a process costs
no other: the next process begins behind it. BROKEN.md says what the columns count.
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
from contextlib import suppress
from pathlib import Path

import numpy as np
from tqdm import tqdm

from benchmarks.broken_driver import BEGIN, END
from benchmarks.machine import RESULTS, description

OURS, NUMBAS, PLAIN = "our simulator", "Numba's simulator", "GPU alone"
SANITIZERS = "memcheck", "racecheck", "initcheck", "synccheck"
TOOLS = (OURS, NUMBAS, PLAIN, *SANITIZERS)
ENGINES = {OURS: "checked", NUMBAS: "numba"}  # of broken_driver; all others: gpu
FOUND, SEEN, MISSED, NOT_RUN = "found", "only seen", "missed", "not run"
HANG, ENDED = "hang", "ended with status"

PER_PROCESS = 25
SECONDS_TO_START, SECONDS_PER_KERNEL = 60.0, 25.0
AT_LEAST = 12  # of each kind, if there are so many
# How a report of compute-sanitizer begins. The kernel's name stands there, or in the next line.
HEADLINE = re.compile(
    r"=+ (?:Invalid __|Misaligned |Uninitialized |Barrier error|Warp |Out-of-range |Illegal |Stack "
    r"|(?:Error|Warning): Race reported)"
)
MODULE = re.compile(r"kernel(\d+)x")  # as Numba's names of kernels have it
# Numba's simulator has not all of numba.cuda: what it then says is no word on the kernel.
LACKING = "AttributeError", "ImportError", "NotImplementedError", "TypeError"


def sample(records, wrong, right, seed):
    """So many wrong and right records, in the order of the file, of each kind at least some."""
    rng = np.random.default_rng(seed)

    def drawn(numbers, count):
        return rng.permutation(numbers)[: max(0, count)].tolist()

    kinds = [record["kind"] for record in records]
    chosen = set()
    for kind in sorted(set(kinds) - {"right"}):
        chosen.update(drawn([n for n, one in enumerate(kinds) if one == kind], AT_LEAST))
    rest = [n for n, one in enumerate(kinds) if one != "right" and n not in chosen]
    chosen.update(drawn(rest, wrong - len(chosen)))
    chosen.update(drawn([n for n, one in enumerate(kinds) if one == "right"], right))
    return [records[number] for number in sorted(chosen)]


def tasks_of(records, folder):
    """What the driver is given: each text in a file of its own, under a name that tools print."""
    tasks = []
    for number, record in enumerate(records):
        file = folder / f"kernel{number}x.py"
        file.write_text(record["kernel"]["source"], encoding="utf-8")
        tasks.append({"record": record, "module": file.stem, "file": str(file)})
    return tasks


class Chunk:
    """Some tasks under one tool. tasks: number -> task; deadline: seconds of `time.monotonic()`.

    outcomes, reported: per task, in order: what the driver printed, and what the tool reported.
    """

    def __init__(self, tool, tasks, folder, deadline):
        self.tool, self.numbers, self.deadline = tool, list(tasks), deadline
        self.file = folder / f"tasks_{id(self)}.json"
        self.file.write_text(json.dumps(list(tasks.values())), encoding="utf-8")
        self.outcomes, self.reported = [None] * len(tasks), [set() for _ in tasks]
        self.printed = ""  # the last line that is no report
        self.report = ""  # whose kernel the next line may name
        self.at = -1  # the task at work
        self.until = 0.0  # and when it has taken too long

    def run(self):
        first = 0
        while first < len(self.numbers) and time.monotonic() < self.deadline:
            self.run_from(first)
            if self.at < first:  # it did not even begin
                break
            first = self.at + 1
        return self

    def run_from(self, first):
        """Run a process from a task on, until it ends or takes too long with one."""
        self.until = time.monotonic() + SECONDS_TO_START
        process = subprocess.Popen(
            command(self.tool, self.file, first), env=environment(self.tool), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
            start_new_session=True, cwd=Path(__file__).parent.parent,
        )  # fmt: skip
        thread = threading.Thread(target=self.read, args=(process.stdout,), daemon=True)
        thread.start()
        while thread.is_alive() and time.monotonic() < min(self.until, self.deadline):
            thread.join(0.2)
        hangs = thread.is_alive()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # it, and what it has started
        thread.join(5.0)
        status = process.wait()
        in_time = time.monotonic() < self.deadline
        if in_time and self.at >= first and self.outcomes[self.at] is None:
            self.outcomes[self.at] = {"error": HANG if hangs else f"{ENDED} {status}"}

    def read(self, lines):
        for line in lines:
            if not line.startswith((BEGIN, END)):
                self.note(line)
                continue
            self.keep(None)
            what, number, outcome = line.split(" ", 2)
            self.at, self.until = int(number), time.monotonic() + SECONDS_PER_KERNEL
            if what == END:
                self.outcomes[self.at] = json.loads(outcome)
        self.keep(None)

    def note(self, line):
        """A line of the tool's."""
        named, is_report = MODULE.search(line), HEADLINE.match(line)
        self.keep(None if is_report else named)
        if is_report:
            self.report = line.strip("= \n")[:100]
            if named:
                self.keep(named)
        elif line.strip("= \n"):
            self.printed = line.strip("= \n")[:200]

    def keep(self, named):
        """Count the last report to the kernel that it names, else to the one at work."""
        report, self.report = self.report, ""
        place = self.numbers.index(int(named[1])) if named else self.at
        if report and place >= 0:
            self.reported[place].add(report)


def command(tool, file, first):
    engine = ENGINES.get(tool, "gpu")
    driver = [sys.executable, "-m", "benchmarks.broken_driver", engine, str(file), str(first)]
    if tool not in SANITIZERS:
        return driver
    quiet = "--print-limit", "1000000", "--show-backtrace", "no"
    return [sanitizer(), "--tool", tool, *quiet, *driver]


def sanitizer():
    return shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"


def environment(tool):
    own = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    if tool in ENGINES:
        own |= {"CUDA_VISIBLE_DEVICES": "", "NUMBA_ENABLE_CUDASIM": str(int(tool == NUMBAS))}
    return os.environ | own


def run_tool(tool, tasks, folder, jobs, deadline):
    """What came of each task: (outcome or None, reports of the tool)."""
    parts = max(jobs, -(-len(tasks) // PER_PROCESS))
    numbers = range(len(tasks))
    shares = [{n: tasks[n] for n in numbers[part::parts]} for part in range(parts)]
    chunks = [Chunk(tool, share, folder, deadline) for share in shares if share]
    with ThreadPoolExecutor(jobs) as threads:
        list(tqdm(threads.map(Chunk.run, chunks), total=len(chunks), desc=tool))
    made = {
        number: (outcome, sorted(reported))
        for one in chunks
        for number, outcome, reported in zip(one.numbers, one.outcomes, one.reported, strict=True)
    }
    return [made[number] for number in numbers]


def refusal(tool, tasks, folder):
    """Why a tool does not run on this machine; "" if it does. It tries a right kernel."""
    if tool in SANITIZERS and not Path(sanitizer()).exists():
        return "compute-sanitizer is not installed"
    right = next((task for task in tasks if task["record"]["right"]), tasks[0])
    chunk = Chunk(tool, {0: right}, folder, time.monotonic() + 90).run()
    outcome = chunk.outcomes[0] or {"error": chunk.printed or "it did not begin"}
    return outcome.get("error", "")


def column(tool, outcome, reported):
    """In which column a line counts, of a broken kernel or a right one."""
    if reported:
        return FOUND
    if outcome is None:
        return NOT_RUN
    error = outcome.get("error", "")
    if error.startswith((HANG, ENDED)) or (tool in SANITIZERS and outcome.get("sticky")):
        return SEEN
    if error and (tool in SANITIZERS or (tool == NUMBAS and error.startswith(LACKING))):
        return NOT_RUN
    if error or outcome["found"]:
        return FOUND
    return SEEN if outcome["wrong"] else MISSED


def compare(records, tools, jobs, seconds):
    """(tool -> its results, tool -> why it did not run)."""
    end, results, refused = time.monotonic() + seconds, {}, {}
    with tempfile.TemporaryDirectory() as name:
        os.environ["NUMBA_CACHE_DIR"] = str(Path(name) / "cache")
        tasks = tasks_of(records, Path(name))
        for place, tool in enumerate(tools):
            refused[tool] = refusal(tool, tasks, Path(name))
            began = time.monotonic()
            share = (end - began) / (len(tools) - place)  # so that the last one gets its turn
            if not refused[tool]:
                results[tool] = run_tool(tool, tasks, Path(name), jobs, began + 1.5 * share)
            print(f"{tool}: {time.monotonic() - began:.0f} s {refused[tool]}", flush=True)
    return results, {tool: why for tool, why in refused.items() if why}


def table(records, results):
    """kind -> {"kernels": n, tool: {column: n}}; the kind of right ones is "right"."""
    rows = {}
    for kind in sorted({one["kind"] for one in records}, key=lambda one: (one == "right", one)):
        numbers = [n for n, one in enumerate(records) if one["kind"] == kind]
        counts = {
            tool: dict(sorted(Counter(column(tool, *each[n]) for n in numbers).items()))
            for tool, each in results.items()
        }
        rows[kind] = {"kernels": len(numbers), **counts}
    return rows


def markdown(rows, tools):
    """The table of BROKEN.md: found / only seen / missed; what was not run stands in brackets."""
    yield f"| kind | kernels | {' | '.join(tools)} |"
    yield "|---" * (len(tools) + 2) + "|"
    for kind, row in rows.items():
        yield f"| {kind} | {row['kernels']} | {' | '.join(cell(row[tool]) for tool in tools)} |"


def cell(counts):
    said = " / ".join(str(counts.get(one, 0)) for one in (FOUND, SEEN, MISSED))
    return said + (f" ({counts[NOT_RUN]})" if NOT_RUN in counts else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="of `python -m lessons mistakes export`")
    parser.add_argument("--wrong", type=int, default=420, help="broken kernels to draw")
    parser.add_argument("--right", type=int, default=80, help="right ones to draw")
    parser.add_argument("--seed", type=int, default=38)
    parser.add_argument("--tools", nargs="*", default=list(TOOLS), choices=TOOLS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--seconds", type=float, default=450, help="for all tools together")
    parser.add_argument("--save", help="write benchmarks/results/SAVE.json, or this path")
    options = parser.parse_args()
    lines = options.file.read_text(encoding="utf-8").splitlines()
    records = sample(list(map(json.loads, lines)), options.wrong, options.right, options.seed)
    results, refused = compare(records, options.tools, options.jobs, options.seconds)
    rows = table(records, results)
    print("\n".join(markdown(rows, results)))
    if options.save:
        path = RESULTS / Path(options.save).with_suffix(".json")
        saved = {"machine": description(), "refused": refused, "kinds": rows}
        path.write_text(json.dumps(saved, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
