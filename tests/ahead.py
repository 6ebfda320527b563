"""Compile ahead what later tests wait for, on the core that the first tests leave idle.

    python -m tests.ahead REPORT.json

compiles the CPU backend, whose code is kept on disk for whoever asks next, and then every kernel
for a GPU, of which REPORT.json tells. `start` begins that in a process of its own; `report` waits
for it.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CAPABILITY = "9.0"

started = None  # (process, path of the report)


def start(folder):
    global started
    path = Path(folder) / "report.json"
    command = [sys.executable, "-m", "tests.ahead", path]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    started = process, path


def report():
    """What `compile_kernels` says about `CAPABILITY`; None if nothing was started, or it failed."""
    if started is None:
        return None
    process, path = started
    return json.loads(path.read_text()) if process.wait() == 0 else None


def stop():
    if started is not None:
        started[0].kill()
        started[0].wait()


def main():
    import train
    from tests.kernels.compile_kernels import report_on

    with tempfile.TemporaryDirectory() as folder:
        train.main(
            ["--quiet", "--backend", "cpu", "--steps", "1", "--batch", "64", "--out", folder]
        )
    found = report_on(tuple(map(int, CAPABILITY.split("."))))
    Path(sys.argv[1]).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
