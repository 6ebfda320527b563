"""Host code of a student's: what is found in it, and that numbers reach a result only by kernels.

The functions below stand for a student's; this file stands for the student's file.
"""

import numpy as np
import pytest
from numba import cuda, float32

from kernels.image_ops import grayscale
from kernels.plumbing.errors import InputError
from lessons.grading.judge.host_run import HostRun, HostStep, read_steps
from lessons.grading.walls.plain_code import plain_code
from lessons.grading.worker.host_code import (
    CopiedOver,
    HostArrayInLaunch,
    NotCopiedBack,
    fixed,
    run_host_code,
)
from lessons.grading.worker.own_kernels import NoKernel


@cuda.jit
def twice(values, result):
    i = cuda.grid(1)
    if i < result.shape[0]:
        result[i] = values[i] * float32(2)


def run(function, *arguments, backend="checked"):
    arguments = [fixed(a) if isinstance(a, np.ndarray) else a for a in arguments]
    arrays = [argument for argument in arguments if isinstance(argument, np.ndarray)]
    return run_host_code(function.__name__, function, arguments, arrays, __file__, backend)


def numbers(count=100):
    return np.random.default_rng(1).random(count, dtype=np.float32)


def doubled_by(values, stream=0):
    values_on_gpu = cuda.to_device(values, stream=stream)
    result = cuda.device_array(values.shape, np.float32)
    twice[2, 64, stream](values_on_gpu, result)
    return result


def there_and_back(values):
    return doubled_by(values).copy_to_host()


@pytest.mark.parametrize("backend", ["checked", pytest.param("native", marks=pytest.mark.slow)])
def test_what_is_right(backend):
    values = numbers()
    done = run(there_and_back, values, backend=backend)
    np.testing.assert_array_equal(done.result, values * np.float32(2))
    assert done.findings == done.doubles == []
    steps = [HostStep(*step) for step in done.steps]
    assert [step.do for step in steps] == ["to device", "launch", "to host"]
    assert [step.size for step in steps] == [400, 128, 400] and steps[1].name == "twice"
    assert len(HostRun(None, [], [], steps).waits()) == 2


def started_with_other_types(values):
    result = cuda.device_array(values.shape, np.float32)
    on_gpu = cuda.to_device(values)
    for given in (on_gpu, cuda.device_array(values.shape, np.float32), on_gpu[::2]):
        twice[2, 64](given, result)
    return result.copy_to_host()


def test_a_step_tells_the_types_of_what_a_launch_is_given():
    launches = [
        step for step in run(started_with_other_types, numbers()).steps if step[0] == "launch"
    ]
    plain, other, gaps = (HostStep(*step).types for step in launches)
    assert plain == other == "; ".join(["an array of float32 with 1 dimension"] * 2)
    assert gaps.startswith("an array of float32 with 1 dimension, with gaps;")


def doubled_twice(values):
    first, second = (cuda.device_array(values.shape, np.float32) for _ in range(2))
    twice[2, 64](cuda.to_device(values), first)
    twice[2, 64](first, second)
    return second.copy_to_host()


def test_a_step_tells_which_launches_are_given_the_same_array():
    launches = [step for step in run(doubled_twice, numbers()).steps if step[0] == "launch"]
    assert [HostStep(*step).arrays for step in launches] == [[1, 2], [2, 3]]


def timed_beside_another_event(values):
    start, other, end = (cuda.event() for _ in range(3))
    start.record()
    result = doubled_by(values)
    end.record()
    other.record()
    other.synchronize()
    return result.copy_to_host(), cuda.event_elapsed_time(start, end)


def test_a_step_tells_which_events_are_asked_for_a_time():
    steps = [HostStep(*step) for step in run(timed_beside_another_event, numbers()).steps]
    assert [step.events for step in steps if step.do == "record"] == [[0], [2], [1]]
    assert [step.events for step in steps if step.do == "time"] == [[0, 2]]


def read_through_a_buffer(values):
    stream, result = cuda.stream(), cuda.pinned_array(values.shape, np.float32)
    on_gpu = doubled_by(values, stream)
    on_gpu.copy_to_host(result, stream=stream)
    return np.ndarray(result.shape, np.float32, result.data).copy()


def test_pinned_memory_has_no_numbers_before_the_host_has_waited():
    done = run(read_through_a_buffer, numbers())
    ((kind, line, message, own),) = done.findings
    assert kind == "unsynchronised" and own and "before you read it" in message
    assert line == read_through_a_buffer.__code__.co_firstlineno + 3


def returned_too_early(values):
    stream = cuda.stream()
    return doubled_by(values, stream).copy_to_host(stream=stream)


def returned_in_time(values):
    stream = cuda.stream()
    result = doubled_by(values, stream).copy_to_host(stream=stream)
    stream.synchronize()
    return [result]


def read_too_early(values):
    stream = cuda.stream()
    result = doubled_by(values, stream).copy_to_host(stream=stream)
    first = result[0]
    stream.synchronize()
    return result, float(first)


@pytest.mark.parametrize("function", [returned_too_early, read_too_early])
def test_too_early(function):
    done = run(function, numbers())
    ((kind, line, message, own),) = done.findings
    assert kind == "unsynchronised" and own and "stream.synchronize()" in message
    first = function.__code__.co_firstlineno
    assert line == first + (3 if function is read_too_early else 2)


def other_stream_waited_for(values):
    stream, other = cuda.stream(), cuda.stream()
    result = doubled_by(values, stream).copy_to_host(stream=stream)
    other.synchronize()
    return [result]


def test_what_the_host_has_waited_for_is_told():
    ((_, _, message, _),) = run(other_stream_waited_for, numbers()).findings
    first = other_stream_waited_for.__code__.co_firstlineno
    assert f"line {first + 3} waits for stream 2 alone" in message


def test_in_time():
    assert run(returned_in_time, numbers()).findings == []


# ---------------------------------------------------------------- where results come from


def computed_here(values):
    there_and_back(values)
    return values * np.float32(3)


def changed_here(values):
    return there_and_back(values) + np.float32(0.5)


def sent_there_and_back(values):
    return cuda.to_device(values * np.float32(2)).copy_to_host()


def written_one_by_one(values):
    result = cuda.device_array(values.shape, np.float32)
    for i in range(values.shape[0]):
        result[i] = values[i] * np.float32(2)
    return result.copy_to_host()


def in_parts(values):
    result = cuda.device_array(values.shape, np.float32)
    for i in range(0, values.shape[0], 20):
        result[i : i + 20].copy_to_device(values[i : i + 20] * np.float32(2))
    return result.copy_to_host()


class Lying(np.ndarray):
    def tobytes(self):
        return KNOWN


KNOWN = (numbers() * np.float32(2)).tobytes()


def lying(values):
    there_and_back(values)
    return (values * np.float32(3)).view(Lying)


class Changing(list):
    def __iter__(self):
        self.append(0)
        return iter([there_and_back(numbers())] if len(self) < 2 else [np.zeros(100)])


HOST_ALONE = [
    computed_here, changed_here, sent_there_and_back, written_one_by_one, in_parts, lying,
]  # fmt: skip


@pytest.mark.parametrize("function", HOST_ALONE)
def test_what_the_host_computes_is_no_result(function):
    with pytest.raises(NoKernel, match="computed"):
        run(function, numbers())


def test_a_list_is_looked_at_once():
    done = run(lambda values: Changing(), numbers())
    np.testing.assert_array_equal(done.result, [numbers() * np.float32(2)])


kept = []


def of_an_earlier_run(values):
    kept.append(doubled_by(values))
    twice[2, 64](kept[0], cuda.device_array(values.shape, np.float32))
    return kept[0].copy_to_host()


def made_by_hand(values):
    result = cuda.device_array(values.shape, np.float32)
    twice[2, 64](type(result)(None, values + np.float32(1)), result)
    return result.copy_to_host()


def test_arrays_on_the_device_are_of_this_run():
    assert run(of_an_earlier_run, numbers()).findings == []
    for function in (of_an_earlier_run, made_by_hand):
        with pytest.raises(NoKernel, match="an array of an earlier run"):
            run(function, numbers())


def zeros_and_a_few_numbers(values):
    result = cuda.to_device(np.zeros(values.shape, np.float32))
    cuda.to_device(np.arange(8, dtype=np.float32))
    pinned = cuda.pinned_array(values.shape, np.float32)
    pinned[:] = values
    twice[2, 64](cuda.to_device(pinned), result)
    return result.copy_to_host()


def part_by_part(values):
    result = cuda.device_array(50, np.float32)
    twice[1, 64](cuda.to_device(values[:50]), result)
    return result.copy_to_host()


@pytest.mark.parametrize("function", [zeros_and_a_few_numbers, part_by_part])
def test_what_may_be_sent(function):
    assert run(function, numbers()).findings == []


def arrays_of_the_host(values):
    result = np.empty_like(values)
    twice[2, 64](values, result)
    return result


def hinted(values):
    result = np.empty_like(values)
    twice[2, 64](cuda.In(values), cuda.Out(result))
    return result


def pinned_as_argument(values):
    result = cuda.pinned_array(values.shape, np.float32)
    twice[2, 64](cuda.to_device(values), result)
    cuda.synchronize()
    return result


@pytest.mark.parametrize("function", [arrays_of_the_host, hinted, pinned_as_argument])
def test_numba_copies_nothing_by_itself(function):
    with pytest.raises(HostArrayInLaunch, match="twice is given"):
        run(function, numbers())


def test_other_ways_to_fail():
    with pytest.raises(InputError, match="still on the device"):
        run(doubled_by, numbers())

    def changes_what_it_was_given(values):
        values[0] = 1

    def makes_it_writeable(values):
        values.flags["WRITEABLE"] = True

    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
        run(makes_it_writeable, numbers())
    with pytest.raises(ValueError, match="read-only"):
        run(changes_what_it_was_given, numbers())

    def two_in_one(values):
        result = np.empty(150, np.float32)
        doubled_by(values).copy_to_host(result[:100])
        doubled_by(values).copy_to_host(result[50:])
        return result[:100], result[50:]

    with pytest.raises(CopiedOver, match="several copies"):
        run(two_in_one, numbers())


def left_on_the_device(values):
    result = np.zeros(values.shape, np.float32)
    twice[2, 64](cuda.to_device(values), cuda.to_device(result))
    return result


def computed_behind_the_kernel(values):
    result = np.zeros(values.shape, np.float32)
    twice[2, 64](cuda.to_device(values), cuda.to_device(result))
    result[:] = values * np.float32(2)
    return result


def no_kernel_at_all(values):
    result = np.zeros(values.shape, np.float32)
    cuda.to_device(result)
    return result


def test_what_a_kernel_has_written_does_not_come_back_by_itself():
    line = left_on_the_device.__code__.co_firstlineno + 2
    with pytest.raises(NotCopiedBack, match=f"line {line} copied it to the device"):
        run(left_on_the_device, numbers())
    for function in (computed_behind_the_kernel, no_kernel_at_all):
        with pytest.raises(NoKernel, match="computed"):
            run(function, numbers())


def test_kernels_of_earlier_lessons_and_of_nobody_else():
    def gray_of(image):
        gray = cuda.device_array(image.shape[:2], np.float32)
        grayscale[(1, 1), (8, 8)](cuda.to_device(image), gray)
        return gray.copy_to_host()

    assert run(gray_of, numbers(5 * 7 * 3).reshape(5, 7, 3)).findings == []

    values = numbers()
    with pytest.raises(NoKernel, match="not from your file"):
        run_host_code("f", there_and_back, [values], [values], "/elsewhere/file.py", "checked")


def test_doubles_are_told_apart():
    def wide(values):
        result = cuda.device_array(values.shape)
        twice[2, 64](cuda.to_device(values), result)
        return result.copy_to_host()

    done = run(wide, numbers())
    assert done.findings == [] and done.doubles[0][0] == "slow"


# ---------------------------------------------------------------- what a file may not name


@pytest.mark.parametrize(
    "line",
    [
        "queue._lab_order.pending.clear()",
        "self = queue; self._lab_order.pending.clear()",
        "match queue:\n        case object(_lab_order=order): order.pending.clear()",
        "from lessons.lab.host import session",
        "cuda.vectorize(['float32(float32)'])",
        "cuda.mapped(image)",
        "from numba import vectorize",
    ],
)
def test_the_session_is_out_of_reach(line):
    text = f"from numba import cuda\n\ndef f(image):\n    queue = cuda.stream()\n    {line}\n"
    assert "which no exercise needs" in plain_code(text, ["f"]).refused["f"]


def test_a_class_of_its_own_does_not_reach_it_either():
    text = "from numba import cuda\nQ = type(cuda)\nclass Mine:\n    def f(self):\n"
    for line in ("return self._lab_session", "def _lab_touch(self): pass"):
        assert plain_code(f"{text}        {line}\n", ["Mine"]).refused
    text = "class Mine:\n    def f(self):\n        return self._x\n"
    assert not plain_code(text, ["Mine"]).left_out


# ---------------------------------------------------------------- the judge's end


def test_steps_of_a_stranger():
    sent = ["launch", 3, 1, False, "twice\x1b[2J", 128, 0.0, "int64", [1, 0], [2]]
    (step,) = read_steps([sent])
    assert step.name == "twice?[2J" and step.types == "int64"
    assert step.arrays == (1, 0) and step.events == (2,)
    for nonsense in (
        [1],
        [["launch"]],
        [["launch", "x", 1, False, "", 1, 0.0, "", [], []]],
        [["launch", 3, 1, False, "", 1, 0.0, "", [], ["x"]]],
        [[]] * 20_000,
    ):
        with pytest.raises((TypeError, ValueError)):
            read_steps(nonsense)
