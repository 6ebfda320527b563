"""An element has the index that the kernel gives it, wherever the array lies in memory."""

import json

import numpy as np
import pytest
from numba import cuda

from lessons.lab import checked_run
from lessons.lab.simulator.memory.access import layout_of, row_major
from lessons.lab.simulator.memory.arrays import wrap_global_arrays

WHOLE = np.zeros((12, 20), np.float32)
VIEWS = {
    "whole": WHOLE[:3, :5].copy(),
    "fortran": np.asfortranarray(WHOLE[:3, :5]),
    "turned": WHOLE[:5, :3].T,
    "every second": WHOLE[:6:2, :10:2],
    "backward": WHOLE[2::-1, 4::-1],
    "half backward": WHOLE[:3, 4::-1],
    "a part": WHOLE[4:7, 9:14],
    "a column": WHOLE[:, 3:4],
    "three axes": np.zeros((5, 4, 3), np.float32).transpose(1, 2, 0),
    "a field": np.zeros((3, 5), [("a", "i1"), ("b", "f4")])["b"],
}


@pytest.mark.parametrize("name", VIEWS)
def test_elements_are_counted_as_the_kernel_does(name):
    array = VIEWS[name]
    view = wrap_global_arrays({"array": array})["array"]
    indices = np.indices(array.shape).reshape(array.ndim, -1)
    element = view.offset + sum(i * s for i, s in zip(indices, view.strides, strict=True))
    assert layout_of(view.memory).shape == array.shape
    assert row_major(view.memory, element).tolist() == list(range(array.size))


def test_where_indices_share_an_element_the_memory_is_shown():
    array = np.lib.stride_tricks.sliding_window_view(np.zeros(9, np.float32), 3)
    memory = wrap_global_arrays({"array": array})["array"].memory
    assert layout_of(memory).shape == (9,)
    assert row_major(memory, np.arange(9)).tolist() == list(range(9))


@cuda.jit
def lost(array):
    array[2, 1] = cuda.threadIdx.x


@pytest.mark.parametrize("name", [name for name, view in VIEWS.items() if view.shape[1] == 5])
def test_a_finding_names_the_element_as_the_kernel_does(name):
    (race,) = checked_run(lost, 1, 32, VIEWS[name]).problems
    assert race.index == (2, 1) and "array[2, 1] is written" in race.message


@cuda.jit
def shifts(source, target):
    i = cuda.threadIdx.x
    target[i] = source[i] * 2


def test_a_replay_knows_which_arrays_share_memory():
    memory = np.arange(12, dtype=np.float32)
    report = checked_run(shifts, 1, 4, memory[:4], memory[2:6], record=True)
    arrays = json.loads(report.replay_data())["arrays"]
    assert [array["aliases"] for array in arrays] == [[1], [0]]
    report = checked_run(shifts, 1, 4, memory[:4], memory[4:8], record=True)
    assert "aliases" not in report.replay_data()


@cuda.jit
def moves(particles):
    i = cuda.grid(1)
    particles[i].speed[1] += particles[i].mass


def test_a_replay_shows_the_fields_of_records():
    kind = np.dtype([("mass", "f4"), ("speed", "f4", 3)])
    particles = np.zeros(8, kind)
    particles["mass"] = np.arange(8)
    content = json.loads(checked_run(moves, 1, 8, particles, record=True).replay_data())
    arrays = {array["name"]: array for array in content["arrays"]}
    assert arrays["particles.mass"]["shape"] == [8]
    assert arrays["particles.mass"]["strides"] == [16]
    assert arrays["particles.speed"]["shape"] == [8, 3]
    assert arrays["particles.speed"]["address"] == 4
    last = content["steps"][-1]
    assert content["lists"][last["elements"]] == {"runs": [1, 3, 8]}
    assert last["values"] == list(range(8))
