"""Compiled kernels on the disk: found again by what they mean, and read only if they are ours.

Machine code is made here without a GPU, by processes that are told they have one.
"""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from kernels import image_ops
from kernels.training import kept_kernels
from kernels.training.kept_kernels import KeptKernels, UnknownMeaning, meaning_of, only_ours
from kernels.training.second_gpu_compiler import paint_kernel
from tests.kernels.test_compile import needs_compiler

ROOT = Path(__file__).resolve().parents[2]
COMPILE = """
import json
import sys
from types import SimpleNamespace
from numba.cuda import dispatcher
from numba.cuda.codegen import CUDACodeLibrary

device = SimpleNamespace(compute_capability=(9, 0))
dispatcher.get_current_device = lambda: device
CUDACodeLibrary._ensure_cc = lambda library, capability: (9, 0, "a")
from kernels.training import kept_kernels
kept_kernels.cuda = SimpleNamespace(get_current_device=dispatcher.get_current_device)

from kernels.fast.graph import make_fused_kernels
from kernels.fast.persistent_one_barrier import make_train_one_barrier
from tests.kernels.compile_kernels import SIGNATURES
from kernels import image_ops

made = [make_train_one_barrier(*sizes)[0] for sizes in ((32, 2, False), (32, 2, True), (16, 1))]
made += make_fused_kernels(32, 2, False, True)[:3] + make_fused_kernels(32, 2, True, True)[:2]
kept_kernels.keep(*made, image_ops.downsample)
kernel, signature = image_ops.downsample, SIGNATURES[image_ops.downsample]
found = kernel._cache.load_overload(signature, None)
if not found:
    found = dispatcher._Kernel(kernel.py_func, signature, **kernel.targetoptions)
    found._codelibrary.get_cubin()
    kernel._cache.save_overload(signature, found)
    found = None
print(json.dumps({
    "names": [kernel._cache.path("signature").name for kernel in made],
    "found": found and found.entry_name,
    "code": found and len(found._codelibrary.get_cubin().code),
}))
"""


def in_a_process(cache):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    environment.pop("NUMBA_ENABLE_CUDASIM", None)
    process = subprocess.run(
        [sys.executable, "-c", COMPILE], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


@needs_compiler
@pytest.mark.slow
def test_another_process_finds_what_one_has_compiled(tmp_path):
    first, second = in_a_process(tmp_path), in_a_process(tmp_path)
    assert first["found"] is None
    assert "downsample" in second["found"] and second["code"] > 1000
    assert first["names"] == second["names"]
    assert len(set(first["names"])) == len(first["names"])  # each variant is another kernel
    files = list(tmp_path.rglob("*.kernel"))
    assert len(files) == 1 and files[0].stat().st_mode & 0o777 == 0o600


def adds(amount):
    def add(value):
        return value + amount

    return add


def adds_by(function):
    def add(value):
        return function(value)

    return add


@pytest.fixture
def our_functions(monkeypatch):
    """Functions of this file count as the project's kernels."""
    monkeypatch.setattr(kept_kernels, "OURS", __name__.split(".")[0])


@pytest.mark.usefixtures("our_functions")
def test_what_a_function_means():
    assert meaning_of(adds(1)) == meaning_of(adds(1))
    assert meaning_of(adds(1)) != meaning_of(adds(1.0))
    assert meaning_of(adds((1, "a"))) != meaning_of(adds((1, "b")))
    assert meaning_of(adds_by(adds(1))) == meaning_of(adds_by(adds(1)))
    assert meaning_of(adds_by(adds(1))) != meaning_of(adds_by(adds(2)))
    assert meaning_of(adds_by(SimpleNamespace(py_func=adds(1)))) == meaning_of(adds_by(adds(1)))
    for unknown in (adds([1]), adds(object()), adds_by(json.dumps)):
        with pytest.raises(UnknownMeaning):
            meaning_of(unknown)


class Pretended:
    """A kernel file that says so when it is read."""

    def __reduce__(self):
        return (pytest.fail, ("a file that is not ours was read",))


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The cache of a kernel, and the file that it would read."""
    capability = SimpleNamespace(compute_capability=(9, 0))
    monkeypatch.setattr(
        kept_kernels, "cuda", SimpleNamespace(get_current_device=lambda: capability)
    )
    folder = tmp_path / "gpu"
    folder.mkdir(mode=0o700)
    cache = KeptKernels(image_ops.downsample, folder)
    path = cache.path("signature")
    path.write_bytes(pickle.dumps(Pretended()))
    path.chmod(0o600)
    return cache, path


def test_what_is_ours_is_read(kept):
    cache, _ = kept
    with pytest.raises(pytest.fail.Exception):
        cache.load_overload("signature", None)


posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs owners and modes of files")


@posix
@pytest.mark.parametrize("how", ["file for all", "file for the group", "folder for all", "link"])
def test_what_others_may_have_written_is_not_read(kept, how):
    cache, path = kept
    if how == "folder for all":
        path.parent.chmod(0o777)
    elif how == "link":
        path.rename(path.with_suffix(".other"))
        path.symlink_to(path.with_suffix(".other"))
    else:
        path.chmod(0o602 if "all" in how else 0o620)
    assert cache.load_overload("signature", None) is None


@posix
def test_what_another_user_wrote_is_not_read(kept, monkeypatch):
    cache, _ = kept
    assert only_ours(cache.folder)
    monkeypatch.setattr(os, "geteuid", lambda: cache.folder.stat().st_uid + 1)
    assert cache.load_overload("signature", None) is None


@pytest.mark.parametrize("content", [b"", b"not a pickle", pickle.dumps({"cooperative": 1})])
def test_a_damaged_file_is_compiled_again(kept, content):
    cache, path = kept
    path.write_bytes(content)
    assert cache.load_overload("signature", None) is None


def test_a_disk_that_takes_nothing_is_no_error(kept, monkeypatch):
    cache, _ = kept

    def full(*arguments):
        raise OSError("no space left on device")

    monkeypatch.setattr(kept_kernels, "write_atomically", full)
    monkeypatch.setattr(kept_kernels, "essential_parts", lambda compiled: {})
    cache.save_overload("signature", None)


@pytest.mark.parametrize("sizes", [(32, 2, 3), (64, 2, 4), (128, 2, 4)])
def test_what_paints_can_be_kept_for_every_size(sizes):
    assert kept_kernels.can_be_kept(paint_kernel(*sizes))


@pytest.mark.gpu
@pytest.mark.parametrize("sizes", [(32, 2, 3), (128, 2, 4)])
def test_a_second_process_compiles_what_the_first_one_paints_with(real_gpu, sizes, tmp_path):
    """In processes of their own, since this one may have compiled it already."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "kernels.training.second_gpu_compiler", *map(str, sizes)]
    assert subprocess.run(command, cwd=ROOT, env=environment).returncode == 0
    found = {path.name.rpartition("-")[0] for path in tmp_path.rglob("*.kernel")}
    assert found == {"paint", "add_squared_errors", "downsample", "upsample"}
    hidden, layers, channels = sizes
    code = f"""
import numpy as np
from kernels.config import Config
from kernels.state import initial_state
from kernels.training.choose_backend import backend_factory
from kernels.training.kept_kernels import awaited
from kernels.training.second_gpu_compiler import PAINT

config = Config(hidden={hidden}, layers={layers}, channels={channels}, batch=128)
image = np.zeros((4, 4, 3), np.float32)
trains = backend_factory("persistent")(image, config, initial_state(config))
assert not awaited(trains.paint, PAINT)
trains.render(4, 4)
assert sum(trains.paint._cache_hits.values()) == 1
"""
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment)
    assert run.returncode == 0
