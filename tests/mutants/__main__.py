"""python -m tests.mutants: which mutants of the kernels are noticed, and by what."""

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tqdm import tqdm

from tests.mutants import judge, stages
from tests.mutants.numba_simulator import judge_in_numba_simulator

PROCESSES = 2  # of Numba's simulator at a time

COLUMNS = "mutants", "caught by check", "caught by value", "equivalent", "missed"


def main(arguments=None):
    """Returns the exit status: 1 if the checked simulator missed a mutant."""
    options = parse(arguments)
    kernels = [options.kernel] if options.kernel else list(stages.STAGES)
    for kernel in kernels:
        verdict = judge.judge_original(kernel)
        if verdict.caught_by != judge.SURVIVED:
            print(f"{kernel} itself does not pass; repair it first: {verdict.detail}")
            return 1

    tasks = [(kernel, number) for kernel in kernels for number in range(len(judge.mutants(kernel)))]
    checked = judge_all(tasks, judge.judge, 1, "checked simulator")
    results = {"checked simulator": checked}
    if options.numba_simulator:
        results["Numba's simulator"] = judge_all(
            tasks, judge_in_numba_simulator, PROCESSES, "Numba's simulator"
        )

    for name, verdicts in results.items():
        if options.list:
            print_list(name, verdicts)
        print_table(name, kernels, verdicts)
    if options.save:
        records = as_records(tasks, results)
        lines = ",\n".join(json.dumps(one, separators=(",", ":")) for one in records)
        options.save.write_text(f"[\n{lines}\n]\n")
    return 1 if "missed" in map(outcome, checked, checked.values()) else 0


def parse(arguments):
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--kernel", choices=stages.STAGES, help="only the mutants of this kernel")
    parser.add_argument("--list", action="store_true", help="print every mutant and its verdict")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write all verdicts as JSON")
    parser.add_argument(
        "--numba-simulator", action="store_true",
        help="run them on Numba's simulator as well, which takes minutes",
    )  # fmt: skip
    return parser.parse_args(arguments)


def judge_all(tasks, judge_one, workers, label):
    """Dict (kernel, number) -> `Verdict`."""
    with ThreadPoolExecutor(workers) as pool:
        verdicts = pool.map(lambda task: judge_one(*task), tasks)
        return dict(
            zip(tasks, tqdm(verdicts, label, len(tasks), unit=" mutants", leave=False), strict=True)
        )


def outcome(task, verdict):
    """The column that a mutant counts in. An error of the checking is a miss."""
    if judge.is_equivalent(*task, verdict):
        return "equivalent"
    caught = {judge.CHECK: "caught by check", judge.VALUE: "caught by value"}
    return caught.get(verdict.caught_by, "missed")


def print_list(name, verdicts):
    print(f"\n{name}\n")
    for task, verdict in verdicts.items():
        kernel, number = task
        print(f"{judge.mutants(kernel)[number]}\n    {outcome(task, verdict)}: {verdict.detail}")


def print_table(name, kernels, verdicts):
    rows = [(kernel, count_outcomes(verdicts, [kernel])) for kernel in kernels]
    rows.append(("total", count_outcomes(verdicts, kernels)))
    width = max(len(label) for label in [name, *stages.STAGES])
    print("\n" + " | ".join([f"{name:{width}}", *COLUMNS]))
    for label, counts in rows:
        cells = [f"{counts[column]:{len(column)}}" for column in COLUMNS]
        print(" | ".join([f"{label:{width}}", *cells]))


def count_outcomes(verdicts, kernels):
    counts = dict.fromkeys(COLUMNS, 0)
    for task, verdict in verdicts.items():
        if task[0] in kernels:
            counts["mutants"] += 1
            counts[outcome(task, verdict)] += 1
    return counts


def as_records(tasks, results):
    """One dict per mutant, with its outcome in each simulator."""
    records = []
    for task in tasks:
        mutant = judge.mutants(task[0])[task[1]]
        record = mutant._asdict()
        del record["text"]
        for name, verdicts in results.items():
            verdict = verdicts[task]
            record[name] = {"outcome": outcome(task, verdict), "detail": verdict.detail}
        records.append(record)
    return records


if __name__ == "__main__":
    sys.exit(main())
