"""Kernels for the successor of numba-cuda: the same code, with other values for its names.

A stand-in takes the successor's place, since it cannot be installed beside every Python; its `jit`
keeps what it is given.
"""

import types
from pathlib import Path

import pytest
from numba import cuda, float32, uint32
from numba.extending import register_jitable

from kernels import adam, backward, encode, mlp_forward, sampler
from kernels.plumbing import front_end


class Compiled:
    """What the stand-in makes of a function."""

    def __init__(self, function, options):
        self.function, self.options = function, options

    def value(self, name):
        return self.function.__globals__[name]


@pytest.fixture
def successor(monkeypatch):
    """A stand-in for numba_cuda_mlir, taken for the front end."""
    made = types.SimpleNamespace(jit=lambda **options: lambda function: Compiled(function, options))
    modules = {"types": types.SimpleNamespace(float32="its float32", uint32="its uint32")}
    monkeypatch.setattr(front_end, "by_successor", lambda: True)
    monkeypatch.setattr(front_end, "cuda", made)
    monkeypatch.setattr(front_end, "successor", modules.__getitem__)
    front_end.translated.cache_clear()
    front_end.device_function.cache_clear()
    yield made
    front_end.translated.cache_clear()
    front_end.device_function.cache_clear()


@register_jitable
def twice(x):
    return x * float32(2)


@cuda.jit(device=True)
def four_times(x):
    return twice(twice(x))


def make_kernel(factor):
    @cuda.jit(fastmath=True)
    def kernel(values):
        i = cuda.grid(1)
        tile = [four_times(x) for x in values]
        values[i] = tile[0] * factor + uint32(1)

    return kernel


def test_a_kernel_keeps_its_code_and_gets_the_successors_values(successor):
    kernel = make_kernel(3)
    other = front_end.compiled_for_gpu(kernel)
    assert other.function.__code__ is kernel.py_func.__code__
    assert other.options == {"fastmath": True}
    assert other.value("cuda") is successor and other.value("uint32") == "its uint32"
    assert other.function.__closure__[0].cell_contents == 3


def test_what_a_kernel_calls_is_translated_too_and_once(successor):
    first, second = (front_end.compiled_for_gpu(make_kernel(factor)) for factor in (3, 4))
    called = first.value("four_times")
    assert called is second.value("four_times") and called.options == {"device": True}
    inner = called.value("twice")
    assert inner.options == {"device": True} and inner.value("float32") == "its float32"


def test_a_device_function_with_a_shared_array_is_made_a_part_of_its_kernel(successor):
    @cuda.jit(device=True)
    def first_of_block(x):
        kept = cuda.shared.array(1, float32)
        kept[0] = x
        return kept[0]

    assert front_end.translated(first_of_block).options == {"device": True, "inline": "always"}


@pytest.mark.parametrize(
    "kernel",
    [sampler.sample_batch, encode.encode, mlp_forward.mlp_forward, backward.backward,
     adam.adam_weights, adam.adam_grid],
    ids=lambda kernel: kernel.py_func.__name__,
)  # fmt: skip
def test_no_value_of_numba_is_left_in_a_stage(successor, monkeypatch, kernel):
    monkeypatch.setattr(front_end, "successor", lambda name: AnyType())
    waiting, seen = [front_end.compiled_for_gpu(kernel)], set()
    while waiting:
        made = waiting.pop()
        values = [value for name, value in made.function.__globals__.items() if name[:2] != "__"]
        for value in values:
            module = getattr(value, "__module__", None) or type(value).__module__
            assert not str(module).startswith("numba"), f"{made.function.__name__}: {value}"
            if isinstance(value, Compiled) and id(value) not in seen:
                seen.add(id(value))
                waiting.append(value)


class AnyType:
    def __getattr__(self, name):
        return f"its {name}"


def test_each_instruction_has_its_twin():
    """By name, in the text: the module itself needs the successor."""
    pytest.importorskip("numba.cuda.extending")
    from kernels.fast import ptx

    fast = Path(ptx.__file__).parent
    text = (fast / "ptx_successor.py").read_text(encoding="utf-8")
    names = {name for name, value in vars(ptx).items() if hasattr(value, "emulation")}
    names -= {"begin_copy", "wait_for_copies"}  # no kernel that trains copies in the background
    assert len(names) > 15
    for name in names:
        assert f"\n{name} = " in text or f"\ndef {name}(" in text, f"{name} is missing"


def test_numba_cuda_comes_first(monkeypatch):
    monkeypatch.delenv(front_end.CHOICE, raising=False)
    for installed, expected in (
        ({"numba_cuda"}, False),
        ({"numba_cuda", "numba_cuda_mlir"}, False),
        ({"numba_cuda_mlir"}, True),
        (set(), False),
    ):
        monkeypatch.setattr(
            front_end.importlib.util,
            "find_spec",
            lambda name, there=installed: name in there or None,
        )
        front_end.by_successor.cache_clear()
        assert front_end.by_successor() is expected
    front_end.by_successor.cache_clear()
