"""Where a benchmark ran: date, device, driver, versions, commit and command."""

import argparse
import datetime
import json
import subprocess
import sys
from pathlib import Path

from kernels.training.devices import cpu_name, why_no_gpu
from kernels.training.results import versions

RESULTS = Path(__file__).resolve().parent / "results"


def description():
    return {
        "date": datetime.date.today().isoformat(),
        "device": first_line(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]),
        "driver": first_line(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]),
        "cpu": cpu_name(),
        "versions": versions(),
        "commit": first_line(["git", "rev-parse", "--short", "HEAD"]),
        "command": "python -m " + " ".join([module_name(), *sys.argv[1:]]),
    }


def parser_of(docstring):
    """A benchmark's parser: it has --save."""
    parser = argparse.ArgumentParser(description=docstring.splitlines()[0])
    told = "write what was measured to results/NAME.json (a plot, if there is one, beside it)"
    parser.add_argument("--save", metavar="NAME", help=told)
    return parser


def require_gpu():
    """End the program in a line where there is none."""
    obstacle = why_no_gpu()
    if obstacle:
        sys.exit(f"error: this is measured on a GPU, but {obstacle}")


def save(name, **result):
    """Write results/NAME.json, with where it ran; nothing if there is no name."""
    if name:
        (RESULTS / f"{name}.json").write_text(text_of({**description(), **result}))


def text_of(result):
    """JSON, with one of its rows per line."""
    if "rows" not in result:
        return json.dumps(result, indent=1) + "\n"
    head = json.dumps({**result, "rows": []}, indent=1)
    rows = ",\n".join(map(json.dumps, result["rows"]))
    return head.replace('"rows": []', f'"rows": [\n{rows}\n]') + "\n"


def module_name():
    return f"benchmarks.{Path(sys.argv[0]).stem}"


def first_line(command):
    try:
        text = subprocess.run(command, capture_output=True, text=True).stdout
    except OSError:
        return ""
    return text.splitlines()[0].strip() if text.strip() else ""
