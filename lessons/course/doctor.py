"""`python -m lessons doctor`: what this machine has, what is missing, and why it matters."""

import importlib.metadata
import platform
import subprocess
import sys

from lessons.course.lesson import ROOT

LOWEST, BEYOND = (3, 10), (3, 14)
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


def examine():
    """Yield (ok, what, finding, advice) for each thing that was looked at; advice may be ""."""
    yield examine_python()
    for name, (needed, purpose) in PACKAGES.items():
        yield examine_package(name, needed, purpose)
    yield examine_driver()
    yield examine_gpu()
    yield examine_folder()


def examine_python():
    version = sys.version_info[:2]
    ok = LOWEST <= version < BEYOND
    advice = "" if ok else "use Python 3.10 to 3.13: Numba is built for these"
    return ok, "Python", f"{platform.python_version()} on {platform.system()}", advice


def examine_package(name, needed, purpose):
    try:
        return True, name, importlib.metadata.version(name), ""
    except importlib.metadata.PackageNotFoundError:
        advice = f"{purpose}: python -m pip install -r {ROOT / 'requirements.txt'}"
        return not needed, name, "not installed", advice


def examine_driver():
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=20)
        version = result.stdout.strip().splitlines()[0]
    except (OSError, subprocess.TimeoutExpired, IndexError):
        return True, "NVIDIA driver", "none found", "without one, everything runs on the CPU"
    if int(version.partition(".")[0]) < 580:
        advice = "older than 580: in requirements.txt replace cu13 by cu12, and install again"
        return False, "NVIDIA driver", version, advice
    return True, "NVIDIA driver", version, ""


def examine_gpu():
    try:
        result = subprocess.run(
            [sys.executable, "-c", ASK_FOR_GPU],
            cwd=ROOT, capture_output=True, text=True, timeout=GPU_SECONDS,
        )  # fmt: skip
        answer = (result.stdout.strip().splitlines() or ["the question ended in an error"])[-1]
    except (OSError, subprocess.TimeoutExpired):
        answer = "no answer in time"
    if answer.startswith("usable: "):
        return True, "GPU", answer, ""
    advice = "the checked simulator and the native engine run your kernels instead"
    return True, "GPU", answer, advice


def examine_folder():
    trial = ROOT / "lessons" / ".doctor"
    try:
        trial.write_bytes(b"")
        trial.unlink()
    except OSError as error:
        return False, "folder", f"cannot write to {trial.parent}", error.strerror or str(error)
    return True, "folder", str(ROOT), ""
