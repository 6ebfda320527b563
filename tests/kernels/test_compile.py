"""Every kernel must compile for real GPUs, in single precision and without local memory.

Python runs much that the compiler refuses, and a stray `0.5` computes in double without a word.
"""

import functools
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

needs_compiler = pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None,
    reason="needs numba-cuda, which compiles for GPUs (Linux and Windows only): "
    "python -m pip install -r requirements.txt",
)


def run_without_simulator(*arguments):
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    process = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


@functools.cache
def report_for(*arguments):
    return json.loads(run_without_simulator("-m", "tests.kernels.compile_kernels", *arguments))


def check_all_of(report):
    good = {"target": True, "double": 0, "local": 0}
    wrong = {name: found for name, found in report.items() if not good.items() <= found.items()}
    assert report and wrong == {}


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("capability", [pytest.param("7.5", marks=pytest.mark.thorough), "9.0"])
def test_kernels_compile_without_double_precision_or_local_memory(capability):
    check_all_of(report_for(capability))


@needs_compiler
@pytest.mark.thorough
@pytest.mark.parametrize("capability", ["8.0", "9.0"])
def test_every_variant_compiles_without_double_precision_or_local_memory(capability):
    check_all_of(report_for(capability, "--every-variant"))


def staged_kernels():
    """How many kernels of the package are made without a factory."""
    made = re.compile(r"^@cuda\.jit(\(max_registers=\d+\))?$", re.MULTILINE)
    paths = (ROOT / "kernels").rglob("*.py")
    return sum(len(made.findall(path.read_text(encoding="utf-8"))) for path in paths)


@needs_compiler
@pytest.mark.slow
def test_every_kernel_of_the_package_is_compiled():
    assert len(report_for("9.0")) == staged_kernels() + len(FUSED)


@needs_compiler
@pytest.mark.thorough
def test_every_variant_of_the_fused_kernels_is_compiled():
    assert len(report_for("9.0", "--every-variant")) == staged_kernels() + len(VARIANTS)


# Kernels that are made for a size of network: compiled for the usual one,
FUSED = ["train", "paint"]
# and in all variants.
VARIANTS = [
    # 32 x 2, as fast as can be and deterministic, with Adam's state in registers and without
    *("train", "train", "one barrier", "large batch", "gradients", "update", "paint") * 2,
    *("train", "train", "large batch", "gradients", "update", "paint"),  # four channels
    *("train", "train", "one barrier", "large batch"),  # 16 x 1
    "train",  # 64 x 2
    *("wide", "paint"),  # 128 x 2
    *("written forward", "written backward"),  # by a machine, from the tape of a SIREN
]


# What only another compiler can import, which is not installed here.
NEED_MORE = {"kernels.fast.ptx_successor"}


@pytest.mark.slow
def test_importing_anything_needs_no_gpu_and_no_arguments():
    paths = [path.relative_to(ROOT).with_suffix("") for path in (ROOT / "kernels").rglob("*.py")]
    modules = {".".join(path.parts) for path in paths} - NEED_MORE
    run_without_simulator("-c", "; ".join(f"import {name}" for name in [*sorted(modules), "train"]))
