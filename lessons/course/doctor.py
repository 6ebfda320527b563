"""`python -m lessons doctor`: what this machine has, what is missing, and why it matters."""

import importlib.metadata
import platform
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

from kernels.plumbing.supported_python import HIGHEST, LOWEST, SUPPORTED
from lessons.course.lesson import ROOT

LOWEST_DRIVER = 580
# distribution: (needed, what for)
PACKAGES = {
    "numpy": (True, "all arrays"),
    "numba": (True, "compiles kernels for the CPU"),
    "numba-cuda": (False, "compiles kernels for a GPU; without it, lessons run on the CPU alone"),
    "imageio": (True, "reads and writes pictures"),
    "pillow": (True, "draws pictures"),
    "tqdm": (True, "progress bars"),
    "pytest": (True, "runs the checks"),
}
# Asked in a process of its own: a broken driver may take the process with it.
ASK_FOR_GPU = (
    "from kernels.training.devices import why_no_gpu, gpu_name; "
    "reason = why_no_gpu(); print(reason or 'usable: ' + gpu_name())"
)
GPU_SECONDS = 120


class Finding(NamedTuple):
    ok: bool
    subject: str
    text: str  # what was found
    advice: str = ""


def examine() -> Iterator[Finding]:
    """Look at one thing after another."""
    yield examine_python()
    for name, (needed, purpose) in PACKAGES.items():
        yield examine_package(name, needed, purpose)
    yield examine_driver()
    yield examine_gpu()
    yield examine_folder()


def examine_python() -> Finding:
    version = sys.version_info[:2]
    ok = LOWEST <= version <= HIGHEST
    advice = "" if ok else f"use {SUPPORTED}: Numba is built for these"
    found = f"{platform.python_version()} on {platform.system()}"
    return Finding(ok, "Python", found, advice)


def examine_package(name: str, needed: bool, purpose: str) -> Finding:
    try:
        return Finding(True, name, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        advice = f"{purpose}: python -m pip install -r {ROOT / 'requirements.txt'}"
        return Finding(not needed, name, "not installed", advice)


def examine_driver() -> Finding:
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=20)
        version = result.stdout.strip().splitlines()[0]
        series = int(version.partition(".")[0])
    except (OSError, subprocess.TimeoutExpired, IndexError, ValueError):
        advice = "without one, everything runs on the CPU"
        return Finding(True, "NVIDIA driver", "none found", advice)
    if series < LOWEST_DRIVER:
        change = "in requirements.txt replace cu13 by cu12, and install again"
        advice = f"older than {LOWEST_DRIVER}: {change}"
        return Finding(False, "NVIDIA driver", version, advice)
    return Finding(True, "NVIDIA driver", version)


def examine_gpu() -> Finding:
    try:
        command = [sys.executable, "-c", ASK_FOR_GPU]
        result = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=GPU_SECONDS
        )
        answer = (result.stdout.strip().splitlines() or ["the question ended in an error"])[-1]
    except (OSError, subprocess.TimeoutExpired):
        answer = "no answer in time"
    if answer.startswith("usable: "):
        return Finding(True, "GPU", answer)
    if "pip install" in answer:
        return Finding(False, "GPU", answer)
    advice = "the checked simulator and the native engine run your kernels instead"
    return Finding(True, "GPU", answer, advice)


def examine_folder() -> Finding:
    trial = ROOT / "lessons" / ".doctor"
    try:
        trial.write_bytes(b"")
        trial.unlink()
    except OSError as error:
        reason = error.strerror or str(error)
        advice = f"{reason}; to do the lessons, copy the project to a folder of yours"
        return Finding(False, "folder", f"cannot write to {trial.parent}", advice)
    return Finding(True, "folder", str(ROOT))
