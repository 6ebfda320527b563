"""What host code asks of `numba.cuda` besides arrays and launches."""

import importlib.util
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from numba import cuda, float32, guvectorize, types, vectorize

from lessons.lab import InputError, instead_of_gpu
from lessons.lab.__main__ import main

ROOT = Path(__file__).resolve().parents[2]


@cuda.jit
def add(values, amount):
    i = cuda.grid(1)
    if i < values.size:
        values[i] += amount


def ones():
    return cuda.to_device(np.ones(8))


class Described:
    """Somebody's own class that has memory of a GPU."""

    def __init__(self, interface):
        self.__cuda_array_interface__ = interface


def kinds_of(program, **options):
    """The kinds of problems that are found in a program."""
    with instead_of_gpu(quiet=True, **options) as session:
        program()
    assert session.launches
    return [finding.kind for finding in session.problems]


# ---------------------------------------------------------------- contexts and devices


def test_what_a_context_is_asked():
    with instead_of_gpu() as session:
        context = cuda.current_context()
        before = context.get_memory_info()
        array = cuda.device_array(1 << 20, np.float32)
        assert before.free - context.get_memory_info().free == array.nbytes
        array = None
        context.deallocations.clear()
        assert len(context.deallocations) == 0 and context.get_memory_info() == before
        with context.deallocations.disable(), cuda.defer_cleanup():
            add[1, 8, context.create_stream()](ones(), 1)
        context.create_event().record(context.get_default_stream())
        assert context.get_active_blocks_per_multiprocessor(add, 256, 0) == 8
        assert context.get_max_potential_block_size(add, None, 0, 512) == (64, 512)
        assert cuda.devices.require_context(lambda: 3)() == 3
        assert cuda.cudadrv.driver.driver.get_version() == cuda.runtime.get_version()
    assert session.ok


def test_a_second_device():
    sums = {}

    def work(number):
        with cuda.gpus[number]:
            assert cuda.get_current_device().id == number == cuda.gpus.current.id
            array = ones()
            add[1, 8](array, number)
            sums[number] = array.copy_to_host().sum()

    def program():
        assert len(cuda.gpus) == 2 and [gpu.id for gpu in cuda.list_devices()] == [0, 1]
        workers = [threading.Thread(target=work, args=(number,)) for number in range(2)]
        for worker in workers:
            worker.start()
            worker.join()
        assert sums == {0: 8, 1: 16} and cuda.get_current_device().id == 0
        cuda.select_device(1)
        assert cuda.current_context().id == 1 and cuda.current_context(0).device.id == 0
        with pytest.raises(IndexError, match="--devices 3"):
            cuda.gpus[2]

    def exchanged():
        array = ones()
        cuda.select_device(1)
        add[1, 8](array, 1)

    assert kinds_of(program, devices=2) == []
    assert kinds_of(exchanged, devices=2) == ["out-of-bounds"]


def test_the_command_has_devices(tmp_path, capsys):
    script = tmp_path / "devices.py"
    script.write_text("from numba import cuda\nassert len(cuda.gpus) == 2\n")
    assert main(["run", "--devices", "2", str(script)]) == 6  # it launches nothing
    assert main(["run", str(script)]) == 6 and "AssertionError" in capsys.readouterr().err
    assert main(["run", "--devices", "0", str(script)]) == 2


@cuda.jit
def wait_for_all(values):
    values[cuda.grid(1)] = 1
    cuda.cg.this_grid().sync()


def test_more_blocks_than_a_gpu_can_hold_wait_for_each_other():
    array = np.zeros(1 << 14)
    assert kinds_of(lambda: wait_for_all[16, 1024](array)) == []
    assert kinds_of(lambda: wait_for_all[1 << 14, 1](array)) == ["limits"]


def test_what_a_kernel_is_asked_about_its_code():
    with instead_of_gpu():

        @cuda.jit
        def kernel(values):
            values[cuda.grid(1)] = 1

        kernel[1, 8](ones())
        (signature,) = kernel.signatures
        assert signature == (types.float64[::1],)
        assert kernel.overloads[signature].max_cooperative_grid_blocks(256) == 128
        assert ".entry" in kernel.inspect_asm(signature)
        assert list(kernel.inspect_asm()) == [signature]
        assert "define" in kernel.inspect_llvm(signature)
        with pytest.raises(InputError, match="inspect_asm"):
            kernel.inspect_sass(signature)
        text, kind = cuda.compile_ptx_for_current_device(lambda x: x + x, (float32,), device=True)
        assert ".func" in text and kind == float32


# ---------------------------------------------------------------- arrays of others


def test_the_interface_of_arrays_both_ways():
    with instead_of_gpu() as session:
        array = cuda.to_device(np.arange(24.0).reshape(4, 6))
        whole, part = (Described(a.__cuda_array_interface__) for a in (array, array[1:, ::2]))
        add[1, 8](cuda.as_cuda_array(whole)[0], 1)
        view = cuda.as_cuda_array(part)
        assert (
            view.shape == (3, 3)
            and (view.copy_to_host() == np.arange(6, 24).reshape(3, 6)[:, ::2]).all()
        )
        assert array[0, 5] == 6 and cuda.is_cuda_array(whole)
        assert cuda.to_device(whole)[3, 5] == 23
        flat = Described({**array.__cuda_array_interface__, "shape": (24,), "strides": None})
        add[1, 32](flat, 100)
        assert array[3, 5] == 123
        fresh = cuda.device_array(8)
        fill[1, 8](Described(fresh.__cuda_array_interface__))
        assert fresh.copy_to_host().tolist() == list(range(8))
    assert session.ok, session


@pytest.mark.parametrize("native", [False, True])
def test_a_kernel_knows_memory_of_others_by_a_name(native):
    with instead_of_gpu(native=native) as session:
        array = ones()
        other = Described(array.__cuda_array_interface__)

        @cuda.jit
        def doubles():
            other[cuda.grid(1)] *= 2

        doubles[1, 8]()
        assert array.copy_to_host().tolist() == [2] * 8
    assert session.ok, session


def test_for_all_of_nothing_is_no_launch():
    with instead_of_gpu() as session:
        add.forall(0)(ones(), 1)
        with pytest.raises(ValueError, match="negative"):
            add.forall(-1)
    assert not session.launches


@cuda.jit
def fill(values):
    values[cuda.grid(1)] = cuda.grid(1)


FOREIGN = np.ones(8)  # kept: memory that is freed may become an array of the lab


@pytest.mark.parametrize(
    "change",
    [
        {"data": (None, False)}, {"data": (0x7F0000001000, False)}, {"typestr": "|O"},
        {"shape": (9,)}, {"strides": (16,)}, {"strides": (-8,)},
        {"data": (FOREIGN.__array_interface__["data"][0], False)},
    ],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_memory_of_nobody_is_refused(change):
    with instead_of_gpu():
        array = ones()
        with pytest.raises(InputError, match="no array of the lab"):
            add[1, 8](Described({**array.__cuda_array_interface__, **change}), 1)
        with pytest.raises(TypeError):
            cuda.as_cuda_array(object())


# ---------------------------------------------------------------- ufuncs


def test_ufuncs_are_kernels_that_are_checked():
    table = np.arange(4.0)

    @cuda.jit(device=True)
    def twice(x):
        return 2 * x

    def program():
        @vectorize(["float64(float64, float64)"], target="cuda")
        def mixed(x, y):
            return cuda.fma(x, y, twice(x))

        values = np.arange(8.0)
        assert (mixed(ones(), values).copy_to_host() == values + 2).all()
        assert (
            mixed(np.ones((2, 3)), cuda.to_device([[1.0], [2.0]]))[1].copy_to_host().tolist()
            == [4] * 3
        )
        assert mixed(ones(), 3.0, out=cuda.device_array(8))[7] == 5

    def outside():
        @vectorize(["float64(int64)"], target="cuda")
        def look_up(i):
            return cuda.const.array_like(table)[i]

        look_up(np.arange(5))

    assert kinds_of(program) == [] and kinds_of(outside) == ["out-of-bounds"]


def test_generalised_ufuncs_are_kernels_that_are_checked():
    def program(shift):
        @guvectorize(["void(float32[:], float32[:], float32[:])"], "(n),(n)->(n)", target="cuda")
        def added(x, y, out):
            for i in range(x.shape[0]):
                out[i] = x[i + shift] + y[i]

        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        if shift == 0:
            assert added(x, x[1]).tolist() == [[3, 5, 7], [6, 8, 10]]
            out = cuda.device_array((2, 3), np.float32)
            added(cuda.to_device(x), cuda.to_device(x), out=out)
        assert added(x, x).shape == (2, 3)

    assert kinds_of(lambda: program(0)) == []
    assert kinds_of(lambda: program(1)) == ["out-of-bounds"]


@pytest.mark.slow
@pytest.mark.parametrize("how", [[], ["--native"]])
def test_types_that_are_registered_with_numba(how):
    """In a process of its own: what is registered stays."""
    pytest.importorskip("numba_cuda")
    command = [sys.executable, "-m", "lessons.lab", "run", *how, "tests/lab/scripts/extended.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 launches of 2 kernels: no problem found" in done.stdout


# ---------------------------------------------------------------- explicit signatures


SIGNATURES = """
import numpy as np
from numba import cuda, float32, int32, void
@cuda.jit(void(float32[:], int32))
def fill(values, number):
    values[cuda.grid(1)] = plus(number)
@cuda.jit("float32(float32)", device=True)
def plus(x):
    return x + float32(1)
values = np.zeros(8, np.float32)
with lab.instead_of_gpu():
    fill[1, 8](values, 2.75)
assert values.tolist() == [3] * 8
assert lab.checked_run(fill, 1, 8, values, 4.5).ok and values[0] == 5
"""


@pytest.mark.skipif(cuda.is_available(), reason="there is a GPU, which compiles them at once")
@pytest.mark.slow
@pytest.mark.parametrize("before", ["", "from numba import cuda\n"])
def test_kernels_with_signatures_are_made_at_any_time(before, tmp_path):
    script = tmp_path / "signatures.py"
    script.write_text(before + "from lessons import lab" + SIGNATURES)
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


STAND_INS = """
import cupy, torch
values, out = cupy.arange(8, dtype=cupy.float32), cupy.zeros(8)
add[1, 8](values, 2)
assert cupy.asnumpy(values).tolist() == values.get().tolist() == list(range(2, 10))
out[2:] = values[:6] * 3 + 1
assert float(out.sum()) == 3 * 27 + 6 and cupy.sqrt(out).shape == (8,) and int(out[2]) == 7
add[1, 6](out[2:], 1)
out += 1
assert out.get()[1:3].tolist() == [1, 9]
place = torch.device("cuda" if torch.cuda.is_available() else "cpu")
tensor, zeros = torch.ones(2, 4), torch.zeros(8, device=place)
add[1, 8](zeros, 4)
assert zeros.is_cuda and zeros.dtype == torch.float32 and zeros.cpu().numpy()[7] == 4
add[1, 8](cuda.as_cuda_array(tensor.cuda().reshape(8)), 1)
moved = torch.from_numpy(np.arange(4)).to("cuda")
assert (moved * 2).sum().item() == 12 and moved.to(torch.float32).size(0) == 4
with cupy.cuda.Stream() as stream:
    stream.synchronize()
torch.cuda.synchronize()
"""


@pytest.mark.skipif(
    any(importlib.util.find_spec(name) for name in ("cupy", "torch")), reason="they are there"
)
def test_stand_ins_for_what_is_missing():
    with instead_of_gpu() as session:
        exec(STAND_INS, {"np": np, "cuda": cuda, "add": add})
        with pytest.raises(TypeError):
            add[1, 8](sys.modules["torch"].ones(8), 1)  # it is on the host
    assert session.ok and session.launches["add"] == 4
    with pytest.raises(ImportError):
        import cupy  # noqa: F401


PYTORCH = """
import torch

class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x.detach() * 2
        add[1, 8](cuda.as_cuda_array(out), 0)
        return out

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.contiguous() + torch.zeros(8, device=gradient.device)
        add[1, 8](gradient, 1)
        return 2 * gradient

place = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.ones(8, device=place, requires_grad=True)
assert x.is_cuda and x.device == torch.device("cuda:0") and x.cpu().detach().numpy().sum() == 8
Twice.apply(x.cuda()).sum().backward()
assert x.grad.tolist() == [4] * 8
layer = torch.nn.Linear(8, 1).to("cuda", dtype=torch.float64)
assert layer(x.double()).dtype == torch.float64
add[1, 8](torch.cuda.FloatTensor([1] * 8), 1)
kept = cuda.to_device(np.ones(8, np.float32))
assert torch.as_tensor(kept, device="cuda").sum() == 8
"""


@pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="it is not there")
def test_pytorch_that_finds_no_gpu():
    torch = importlib.import_module("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    former = torch.cuda.FloatTensor, torch.autograd.function.BackwardCFunction.apply
    with instead_of_gpu(quiet=True) as session:
        exec(PYTORCH, {"np": np, "cuda": cuda, "add": add})
        with pytest.raises(RuntimeError, match="detach"):
            add[1, 8](torch.ones(8, requires_grad=True), 1)
    assert session.ok and session.launches["add"] == 3, session
    assert not torch.ones(1).is_cuda and not torch.cuda.is_available()
    assert former == (torch.cuda.FloatTensor, torch.autograd.function.BackwardCFunction.apply)
