"""Host code for a GPU runs as it is, without one: its results, and what is found in it."""

import importlib
import json
import linecache
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba import cuda, float32
from numba.cuda import jit, to_device

from lessons.lab import InputError, ProblemsFound, checked_run, instead_of_gpu
from lessons.lab.__main__ import main
from lessons.lab.host.host_reads import uses_at
from lessons.lab.host.steps import FREE

SCRIPTS = Path(__file__).parent / "scripts"
PIPELINE = str(SCRIPTS / "pipeline.py")


@jit
def add(values, amount):
    i = cuda.grid(1)
    if i < values.size:
        values[i] += amount


@cuda.jit
def copy(source, target):
    i = cuda.grid(1)
    if i < source.size:
        target[i] = source[i]


@cuda.jit
def reverse_too_early(values, result):
    tile = cuda.shared.array(32, float32)
    thread = cuda.threadIdx.x
    tile[thread] = values[thread]
    result[thread] = tile[31 - thread]  # here


def ones(count=8):
    return np.ones(count, np.float32)


def run(*arguments):
    """The exit status of `python -m lessons.lab run`."""
    sys.modules.pop("helpers_of_pipeline", None)
    return main(["run", *arguments])


# ---------------------------------------------------------------- a whole script


def test_a_script_with_streams_runs_without_a_gpu(capsys):
    assert run(PIPELINE, "2") == 0
    out, err = capsys.readouterr()
    assert "total 240.000\n" in out and "5 launches of 3 kernels: no problem found" in out
    assert err == ""


@pytest.mark.parametrize(
    "mistake, words",
    [
        ("no-wait", "the kernel smooth on stream 2 reads an array that a copy to the device on"),
        ("reuse-buffer", "the host writes this array here, but its copy to the device on stream 1"),
        ("no-synchronize", "the host reads this array here, but its copy to the host on stream 3"),
        ("managed", "the kernel add_one on the default stream (line"),
    ],
)
@pytest.mark.slow
def test_what_nobody_waits_for_is_found(mistake, words, capsys, tmp_path):
    saved = tmp_path / "found.json"
    assert run("--json", str(saved), PIPELINE, "2", mistake) == 1
    assert words in capsys.readouterr().out
    found = json.loads(saved.read_text())["findings"]
    problems = [finding for finding in found if not finding["advice"]]
    assert [finding["kind"] for finding in problems] == ["unsynchronised"]
    assert Path(problems[0]["file"]).name == "pipeline.py" and problems[0]["other_line"]


def test_a_kernel_with_a_bug_makes_the_exit_status_1(tmp_path, capsys):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, numpy as np\nfrom numba import cuda\n"
        "@cuda.jit\ndef shift(a):\n    i = cuda.grid(1)\n    a[i] = a[i + 1]\n"
        "a = cuda.to_device(np.arange(8.0))\nshift[1, 8](a)\nsys.exit(int(sys.argv[1]))\n"
    )
    assert run("--sarif", str(tmp_path / "found.sarif"), str(script), "0") == 1
    assert "script.py, line 6: out-of-bounds" in capsys.readouterr().out
    (log,) = json.loads((tmp_path / "found.sarif").read_text())["runs"]
    kinds = [result["ruleId"] for result in log["results"]]
    assert "out-of-bounds" in kinds
    replay = tmp_path / "replay.html"
    assert run("--html", str(replay), str(script), "5") == 5
    assert "<html" in replay.read_text(encoding="utf-8")[:500].lower()
    assert run("--html", str(replay), str(script), "0") == 1  # its own is replaced
    script.write_text("def f():\n    raise KeyError('mine')\nf()\n")
    assert run(str(script)) == 6  # and nothing was checked
    error = capsys.readouterr().err
    assert "KeyError: 'mine'" in error and "line 2, in f" in error and "lab" not in error


@pytest.mark.parametrize("kind", ["json", "sarif", "html"])
def test_a_file_of_somebody_else_is_never_replaced(kind, tmp_path, capsys):
    script = tmp_path / "script.py"
    script.write_text("print(1)\n")
    theirs, late, empty = tmp_path / "results.json", tmp_path / "late", tmp_path / "empty.py"
    theirs.write_text("[1]")
    empty.touch()
    for path in (script, theirs, empty, tmp_path):
        assert run(f"--{kind}", str(path), str(script)) == 2
        error = capsys.readouterr().err
        assert "exists already" in error or "is no name for" in error
    assert script.read_text() == "print(1)\n" and theirs.read_text() == "[1]"
    script.write_text(f"open({str(late)!r}, 'w').write('[2]')\n")
    assert run(f"--{kind}", str(late), str(script)) == 2 and late.read_text() == "[2]"
    assert run("--json", "same", "--sarif", "./same", str(script)) == 2


def test_options_behind_the_script_are_passed_on_with_a_word(tmp_path, capsys):
    script = tmp_path / "script.py"
    script.write_text("import sys\nprint(sys.argv[1:])\n")
    assert run(str(script), "--json", "x", "--update-baseline", "--own") == 6
    out, error = capsys.readouterr()
    assert "['--json', 'x', '--update-baseline', '--own']" in out
    assert "the script is given --json --update-baseline" in error and not Path("x").exists()


@pytest.mark.slow
def test_native_finds_indices_outside(tmp_path, capsys):
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np\nfrom numba import cuda\n"
        "@cuda.jit\ndef shift(a):\n    i = cuda.grid(1)\n    a[i] = a[i + 1]\n"
        "shift[1, 8](cuda.to_device(np.arange(8.0)))\n"
    )
    saved = tmp_path / "found.json"
    assert run("--native", "--json", str(saved), str(script)) == 1
    assert "script.py, line 6: out-of-bounds: index 8" in capsys.readouterr().out
    (found,) = json.loads(saved.read_text())["findings"]
    assert (found["array"], found["thread"], found["block"]) == ("a", [7, 0, 0], [0, 0, 0])


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["run"], "which script?"),
        (["run", "missing.py"], "there is no file missing.py"),
        (["run", "--without", "rase", "x.py"], "no finding of kind 'rase'"),
        (["run", "--budget", "0", PIPELINE], "1 or more"),
        (["walk"], "there are run and example"),
    ],
)
def test_a_command_that_cannot_be_used_is_one_line(arguments, words, capsys):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and words in error and error.count("\n") == 1


# ---------------------------------------------------------------- a `with` block


def test_everything_is_put_back():
    before = {name: getattr(cuda, name) for name in dir(cuda)}
    imported = to_device
    with instead_of_gpu(quiet=True):
        assert cuda.to_device is not before["to_device"] and to_device is cuda.to_device
    assert {name: getattr(cuda, name) for name in dir(cuda)} == before
    assert to_device is imported
    with pytest.raises(ZeroDivisionError), instead_of_gpu(quiet=True):
        raise ZeroDivisionError
    assert {name: getattr(cuda, name) for name in dir(cuda)} == before


def test_problems_are_told_and_can_be_raised(capsys):
    with instead_of_gpu() as session:
        result = cuda.device_array(32, np.float32)
        for _ in range(3):
            reverse_too_early[1, 32](np.arange(32, dtype=np.float32), result)
    assert [finding.kind for finding in session.problems] == ["race"] and not session.ok
    assert session.launches == {"reverse_too_early": 3}
    assert "3 launches of 1 kernel: 1 problem found\ntest_host.py, line" in capsys.readouterr().err
    with pytest.raises(ProblemsFound, match="race: thread 0"):
        session.raise_if_problems()
    with instead_of_gpu(without=["race"]) as session:
        reverse_too_early[1, 32](ones(32), ones(32))
    session.raise_if_problems()


def test_arrays_of_the_device():
    with instead_of_gpu() as session:
        values = cuda.to_device(np.arange(12, dtype=np.float32).reshape(3, 4))
        assert (values.shape, values.dtype, len(values), values.size) == ((3, 4), np.float32, 3, 12)
        assert cuda.is_cuda_array(values) and not cuda.is_cuda_array(ones())
        add[1, 4](values[1], 10)
        transposed = values.T  # a copy, as in Numba
        add[1, 3](transposed[0], float32(100))
        assert values[1, 2] == 16 and transposed[0, 2] == 108 and values[2, 0] == 8
        values[0] = 7
        np.testing.assert_array_equal(values.copy_to_host()[0], [7] * 4)
        halves = values.reshape(12).split(6)
        halves[1].copy_to_device(halves[0])
        assert values.ravel()[6] == 7 and values.copy_to_host()[2, 2] == 14
        garbage = cuda.device_array((2, 3))
        assert garbage.dtype == np.float64 and garbage.shape == (2, 3)
        with pytest.raises(TypeError, match="incompatible dtype"):
            values.copy_to_host(np.zeros((3, 4)))
        with pytest.raises(ValueError, match="incompatible shape"):
            values.copy_to_device(ones(5))
        device = cuda.current_context().device
        assert device.name == device.name.decode() == "the lab's simulator"
        assert device.MAX_BLOCK_DIM_Z == 64 and device.PCI_BUS_ID == 0 and device.WARP_SIZE == 32
        assert [gpu.id for gpu in cuda.devices.gpus] == [0] == [gpu.id for gpu in cuda.gpus]
        with pytest.raises(InputError, match="there is no device 1"):
            cuda.select_device(1)
    assert session.ok


@cuda.jit
def fill(values, count):
    i = cuda.grid(1)
    if i < count:
        values[i] = i


@cuda.jit
def fill_and_read(values, same, out):
    i = cuda.grid(1)
    values[i] = i
    cuda.syncthreads()
    if i > 0:
        out[i] = same[i - 1]


@pytest.mark.slow
def test_what_nobody_has_written_on_the_device():
    def unwritten(program):
        with instead_of_gpu(quiet=True) as session:
            program(cuda.device_array(8, np.float32), to_device(ones()))
        return [finding.kind for finding in session.problems]

    def by_a_kernel(count):
        def program(values, out):
            fill[1, 8](values, count)
            copy[1, 8](values, out)

        return program

    def in_parts(values, out):
        fill[1, 4](values[:4], 4)
        values[4:].copy_to_device(ones(4))
        copy[1, 8](values.reshape(2, 4).ravel(), out)
        values[7] = 1
        assert values.split(4)[1].copy_to_host()[3] == 1

    def by_another_name(values, out):
        fill_and_read[1, 7](values[:-1], values[1:], out)

    assert unwritten(by_a_kernel(8)) == unwritten(in_parts) == unwritten(by_another_name) == []
    assert unwritten(by_a_kernel(6)) == ["uninitialised"]
    assert unwritten(lambda values, out: copy[1, 8](out, values)) == []


def test_a_kernel_without_code_answers():
    with instead_of_gpu():

        @cuda.jit
        def kernel(values):
            values[cuda.grid(1)] = 1

        values = ones()
        kernel[1, 8](values)
        compiled = kernel.overloads[(float32[::1],)]
        assert compiled.max_cooperative_grid_blocks(256) == 128
        assert compiled.max_cooperative_grid_blocks((32, 32)) == 32
        with pytest.warns(UserWarning, match="only a GPU's compiler knows"):
            assert kernel.get_regs_per_thread() == 0
        specialized = kernel.specialize(values)
        specialized[1, 8](values)
        kernel.configure(1, 8)(values)


def test_hints_say_what_is_copied():
    source, target = ones(), ones() * 2
    with instead_of_gpu() as session:
        copy[1, 8](cuda.In(source), cuda.Out(target))
        assert target.tolist() == [1] * 8
        add[1, 8](cuda.In(source), 1)
        assert source.tolist() == [1] * 8
        add[1, 8](cuda.InOut(source), 1)
        copy[1, 4](cuda.In(source), cuda.Out(target))
    assert source.tolist() == [2] * 8 and session.ok
    # Four elements were not written: they are what lay in the device's memory.
    assert np.isnan(target[4:]).all()


def test_explicit_signatures_convert():
    seen = []
    with instead_of_gpu():

        @cuda.jit("void(float32[:], int32, float64)")
        def kernel(values, count, factor):
            values[0] = count * factor

        values = ones(1)
        kernel[1, 1](values, np.int64(2**32 + 3), 2)
        seen.append(values[0])
        for wrong, words in [(np.ones(1), "argument 1 is float64"), (3, "argument 1 is a int")]:
            with pytest.raises(TypeError, match=words):
                kernel[1, 1](wrong, 1, 2)
        with pytest.raises(TypeError, match="has 3 arguments"):
            kernel[1, 1](values, 1)

        @cuda.jit([(float32[:],), (numba.int32[:],)])
        def several(values):
            values[0] = 9

        # The signature stays with the kernel.
        assert checked_run(kernel, 1, 1, values, 2.75, 3).ok and values[0] == 6

        several[1, 1](values)
        several[1, 1](np.ones(1, np.int32))
        with pytest.raises(TypeError, match="float64"):
            several[1, 1](np.ones(1))
    assert seen == [6] and values[0] == 9


@pytest.mark.slow
def test_ufuncs_for_the_gpu():
    with instead_of_gpu():

        @numba.vectorize(["float32(float32, float32)"], target="cuda")
        def mixed(a, b):
            return a * 0.5 + b

        values = cuda.to_device(ones())
        assert mixed(values, values).copy_to_host().tolist() == [1.5] * 8
        out = cuda.device_array(8, np.float32)
        mixed(values, ones() * 2, out=out)
        assert out[7] == 2.5 and mixed(ones(), ones())[0] == 1.5


# ---------------------------------------------------------------- who waits for whom


def found(program):
    with instead_of_gpu(quiet=True) as session:
        program()
    assert {finding.kind for finding in session.problems} <= {"unsynchronised"}
    return len(session.problems)


def copied_on(stream, wait):
    result = to_device(ones()).copy_to_host(stream=stream)
    wait(stream)
    return result


READS = {
    "an element": lambda array: array[0],
    "a sum": lambda array: array.sum(),
    "arithmetic": lambda array: array + 1,
    "a function": lambda array: np.concatenate([array, array]),
    "a part": lambda array: array[2:4].max(),
    "a loop": lambda array: [float(value) for value in array],
    "text": lambda array: str(array),
    "a comparison": lambda array: np.testing.assert_allclose(array, 1),
    "a kernel's argument": lambda array: copy[1, 8](array, ones()),
    "in place": lambda array: array.__iadd__(1),
    "a list": lambda array: array.tolist(),
}


@pytest.mark.parametrize("read", READS)
def test_each_way_to_read_too_early(read):
    def too_early():
        READS[read](copied_on(cuda.stream(), lambda stream: None))

    def waiting():
        READS[read](copied_on(cuda.stream(), lambda stream: stream.synchronize()))

    # A kernel on the default stream waits for all others.
    assert found(too_early) == (0 if read == "a kernel's argument" else 1)
    assert found(waiting) == 0


def by_event(stream):
    event = cuda.event()
    event.record(stream)
    event.synchronize()


WAYS_TO_WAIT = {
    "the stream": lambda stream: stream.synchronize(),
    "the device": lambda stream: cuda.synchronize(),
    "the context": lambda stream: cuda.current_context().synchronize(),
    "an event": by_event,
    "a copy on the default stream": lambda stream: to_device(ones()),
}


@pytest.mark.parametrize("way", WAYS_TO_WAIT)
def test_each_way_to_wait(way):
    assert found(lambda: copied_on(cuda.stream(), WAYS_TO_WAIT[way]).sum()) == 0


def test_what_is_no_way_to_wait():
    def another_stream():
        copied_on(cuda.stream(), lambda stream: cuda.stream().synchronize()).sum()

    def an_event_recorded_too_early():
        event = cuda.event()
        event.record()
        copied_on(cuda.stream(), lambda stream: event.synchronize()).sum()

    def the_shape_needs_no_waiting():
        array = copied_on(cuda.stream(), lambda stream: None)
        assert array.shape == (8,) and len(array) == 8 and np.empty_like(array[2:]).size == 6

    assert found(another_stream) == found(an_event_recorded_too_early) == 1
    assert found(the_shape_needs_no_waiting) == 0


def timed(wait, record=True):
    start, end, stream = cuda.event(), cuda.event(), cuda.stream()
    start.record(stream)
    add[1, 8, stream](to_device(ones()), 1)
    if record:
        end.record(stream)
    wait(end, stream)
    return start.elapsed_time(end)


@pytest.mark.slow
def test_a_time_that_is_asked_for_too_early():
    assert found(lambda: timed(lambda end, stream: None)) == 1
    assert found(lambda: timed(lambda end, stream: end.synchronize())) == 0
    assert found(lambda: timed(lambda end, stream: cuda.synchronize())) == 0
    with instead_of_gpu(), pytest.raises(InputError, match=r"before event.record"):
        timed(lambda end, stream: None, record=False)


def test_each_step_of_the_host_is_noted():
    with instead_of_gpu() as session:
        stream, mark = cuda.stream(), cuda.event()
        array = to_device(ones(), stream=stream)
        add[1, 8, stream](array, 1)
        mark.record(stream)
        mark.wait(cuda.stream())
        array.copy_to_host(cuda.pinned_array(8, np.float32), stream=stream)
        array.copy_to_host(ones(), stream=stream)
        array.copy_to_host(stream=stream)
        add[1, 8](array, 1)
        array.copy_to_host()
        mark.synchronize()
        cuda.synchronize()
        steps = list(session.order.steps)
    assert [(step.do, step.stream, step.waits) for step in steps] == [
        ("to device", 1, False), ("launch", 1, False), ("record", 1, False),
        ("stream waits", 2, False), ("to host", 1, False), ("to host", 1, True),
        ("to host", 1, True), ("launch", 0, False), ("to host", 0, True), ("host waits", 1, True),
        ("host waits", -1, True),
    ]  # fmt: skip
    assert [step.size for step in steps if step.size] == [32, 8, 32, 32, 32, 8, 32]
    assert steps[1].name == "add" and steps[1].place.line == steps[0].place.line + 1


def test_what_a_program_is_handed_stays_as_it_is():
    with instead_of_gpu():
        array, pinned = to_device(ones()), cuda.pinned_array(3)
        stream, event, context = cuda.stream(), cuda.event(), cuda.current_context()
        for handed in (array, pinned, stream, event, context, add[1, 8], context.device):
            with pytest.raises(AttributeError, match="the lab's own"):
                type(handed).synchronize = print
            with pytest.raises(AttributeError, match="the lab's own"):
                del type(handed).__init__
        with pytest.raises(AttributeError):
            stream.number = 0


def two_streams(order):
    """Both write one array."""
    first, second = cuda.stream(), cuda.stream()
    array = cuda.device_array(8, np.float32)
    copy[1, 8, first](to_device(ones()), array)
    order(first, second)
    add[1, 8, second](array, 1)


@pytest.mark.slow
def test_two_streams_and_one_array():
    def event(first, second):
        mark = cuda.event()
        mark.record(first)
        mark.wait(second)

    assert found(lambda: two_streams(lambda first, second: None)) == 1
    assert found(lambda: two_streams(event)) == 0
    assert found(lambda: two_streams(lambda first, second: first.synchronize())) == 0
    # The default stream lies between the two.
    assert found(lambda: two_streams(lambda first, second: add[1, 8](to_device(ones()), 1))) == 0

    def halves():
        array = to_device(ones())
        for stream, half in zip((cuda.stream(), cuda.stream()), array.split(4), strict=True):
            add[1, 4, stream](half, 1)

    def both_read():
        array = to_device(ones())
        for stream in (cuda.stream(), cuda.stream()):
            copy[1, 8, stream](array, cuda.device_array(8, np.float32))

    assert found(halves) == found(both_read) == 0


@pytest.mark.slow
def test_a_stream_that_waits_for_an_event_in_vain():
    def told(program):
        with instead_of_gpu(quiet=True) as session:
            program()
        (finding,) = session.problems
        return finding.message

    def on_itself(first, second):
        mark = cuda.event()
        mark.record(second)
        mark.wait(second)

    def too_early():
        first, second, mark = cuda.stream(), cuda.stream(), cuda.event()
        array = to_device(ones())
        mark.record(first)
        add[1, 8, first](array, 1)
        mark.wait(second)
        add[1, 8, second](array, 1)

    def exchanged(first, second):
        mark = cuda.event()
        mark.record(second)
        mark.wait(first)

    def for_another_purpose():
        first, second, mark = cuda.stream(), cuda.stream(), cuda.event()
        array = to_device(ones())
        mark.record(second)
        mark.wait(first)
        add[1, 8, first](array, 1)
        add[1, 8, second](array, 1)

    nothing = told(lambda: two_streams(lambda first, second: cuda.event().wait(second)))
    assert "which nobody had recorded yet" in nothing
    assert "recorded on this stream itself" in told(lambda: two_streams(on_itself))
    assert "recorded before that, in line" in told(too_early)
    assert "recorded on stream 2: exchange the two" in told(lambda: two_streams(exchanged))
    assert "waits for" not in told(for_another_purpose)
    assert "waits for" not in told(lambda: two_streams(lambda first, second: None))


class Holder:
    """What keeps an ordinary array that is copied to, and reads it in one line."""

    def __init__(self):
        self.array, self.stream = np.zeros(8, np.float32), cuda.stream()
        to_device(ones()).copy_to_host(self.array, stream=self.stream)

    def reads_an_element(self):
        return self.array[0]

    def reads_a_sum(self):
        total = 0
        total += self.array[:4].reshape(2, 2).sum()
        return total

    def reads_in_a_function(self):
        def mean(values):
            return np.mean(values)

        return mean(self.array)

    def reads_in_a_loop(self):
        results = [self.array]
        return [value for value in results[0]]

    def reads_text(self):
        return f"{self.array}"

    def reads_into_another_array(self):
        everything = np.zeros((2, 8))
        everything[1] = self.array

    def reads_a_copy_into_another_array(self):
        everything = np.zeros((2, 8), np.float32)
        stream = cuda.stream()
        everything[1] = to_device(ones()).copy_to_host(stream=stream)

    def reads_a_copy_of_a_copy(self):
        copied = to_device(ones()).copy_to_host(stream=self.stream)
        return np.array(copied)

    def keeps_it_in_a_list(self):
        kept = [None, None]
        kept[0] = self.array
        kept[1] = to_device(ones()).copy_to_host(stream=self.stream)

    def writes(self):
        self.array[:] = 0

    def compares(self):
        np.testing.assert_allclose(self.array, 1)

    def looks_at_the_shape(self):
        assert self.array.shape == (8,) and len(self.array.T.strides) == 1

    def hands_it_on(self):
        return [self.array, self.array[2:]]

    def waits_on_the_line(self):
        self.stream.synchronize(); return self.array[0]  # noqa: E702  # fmt: skip

    def waits(self):
        self.stream.synchronize()
        return self.array.sum()

    def waits_in_a_function(self):
        def wait():
            cuda.synchronize()

        wait()
        return self.array.sum()


HOLDS = [name for name in vars(Holder) if not name.startswith("_")]


@pytest.mark.skipif(sys.gettrace() is not None, reason="a debugger or coverage is watching")
@pytest.mark.parametrize("way", HOLDS)
def test_ordinary_arrays_are_read_too_early(way):
    too_early = way.startswith(("reads", "writes", "compares"))
    assert found(lambda: getattr(Holder(), way)()) == too_early
    assert sys.gettrace() is None


def test_another_file_under_the_same_name_is_read_anew(tmp_path):
    path = tmp_path / "program.py"
    for text, reads in (("x = y\n", 0), ("x = sum(y)\n", 1), ("x = y\n\n", 0)):
        path.write_text(text)
        linecache.checkcache(str(path))
        assert len([use for use in uses_at(str(path), 1) if use.array.id == "y"]) == reads


def test_pinned_sources_stay_as_they_are_until_they_are_copied():
    def changes(wait):
        source, stream = ones(), cuda.stream()
        with cuda.pinned(source):
            to_device(source, stream=stream)
            wait(stream)
            source[0] = 2
            stream.synchronize()

    assert found(lambda: changes(lambda stream: None)) == 1
    assert found(lambda: changes(lambda stream: stream.synchronize())) == 0


def test_pinned_memory_gets_its_numbers_when_the_host_has_waited():
    def bring(then):
        stream, pinned = cuda.stream(), cuda.pinned_array(8, np.float32)
        to_device(ones(), stream=stream).copy_to_host(pinned, stream=stream)
        hidden = np.ndarray(8, np.float32, pinned.data)  # which tells nobody who reads it
        return then(hidden, pinned, stream)

    def waits(hidden, pinned, stream):
        stream.synchronize()
        return hidden.copy()

    def goes_on(hidden, pinned, stream):
        back = to_device(pinned, stream=stream).copy_to_host(stream=stream)
        stream.synchronize()
        return back

    def copies_again(hidden, pinned, stream):
        stream.synchronize()
        to_device(2 * ones()).copy_to_host(pinned)
        return hidden.copy()

    def waits_for_an_event(hidden, pinned, stream):
        event = cuda.event()
        event.record(stream)
        event.synchronize()
        return hidden.copy()

    with instead_of_gpu(quiet=True) as session:
        early = np.frombuffer(bring(lambda hidden, pinned, stream: b"".join([hidden])), np.float32)
        assert np.isnan(early).all()
        for then, number in ((waits, 1), (goes_on, 1), (copies_again, 2), (waits_for_an_event, 1)):
            assert bring(then).tolist() == [number] * 8
    assert session.problems == []


@pytest.mark.slow
def test_mapped_and_managed_memory_is_the_kernels_until_it_is_done():
    def read(make, wait):
        array = make(8, np.float32)
        array[:] = 1
        add[1, 8](array, 1)
        wait()
        assert array.tolist() == [2] * 8

    for make in ("mapped_array", "managed_array"):
        assert found(lambda make=make: read(getattr(cuda, make), lambda: None)) == 1
        assert found(lambda make=make: read(getattr(cuda, make), lambda: cuda.synchronize())) == 0


# ---------------------------------------------------------------- pytest


PROJECT = """
import numpy as np
import pytest
from numba import cuda

pytestmark = pytest.mark.skipif(not cuda.is_available(), reason="no GPU")

@cuda.jit
def shift(values, by):
    i = cuda.grid(1)
    values[i] = i + by if i + by < values.size else values[i + by]

@pytest.mark.parametrize("by", [0, 1])
def test_shift(by):
    values = cuda.to_device(np.zeros(8, np.float32))
    shift[1, 8](values, by)
    assert values.copy_to_host()[0] == by
"""


@pytest.mark.slow
@pytest.mark.parametrize("options, outcome", [([], "2 skipped"), (["--lab"], "1 failed, 1 passed")])
def test_a_projects_tests_run_checked(options, outcome, tmp_path):
    import subprocess

    (tmp_path / "test_project.py").write_text(PROJECT)
    root = str(Path(__file__).resolve().parents[2])
    plugin = ["-p", "lessons.lab.pytest_plugin"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, *options, str(tmp_path)],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    if not options and importlib.import_module("numba.cuda").is_available():
        outcome = "2 passed"
    assert outcome in done.stdout, done.stdout
    if options:
        assert "out-of-bounds: values[8]" in done.stdout and "2 launches of 1 kernel" in done.stdout


def freed_in_use(program):
    """(bytes, line within the program) of arrays that were freed while work still used them."""
    with instead_of_gpu() as session:
        program(cuda.stream(), np.ones(4, np.float32))
    first = program.__code__.co_firstlineno
    steps = [step for step in session.order.steps if step.do == FREE]
    return [(step.size, step.place.line - first) for step in steps]


@pytest.mark.slow
def test_an_array_is_freed_while_a_queue_uses_it():
    def lost(queue, ones):
        there = cuda.to_device(ones, stream=queue)
        add[1, 4, queue](there, 1)
        there = None
        queue.synchronize()

    def view_is_left(queue, ones):
        there = cuda.to_device(ones, stream=queue)[1:]
        add[1, 4, queue](there.reshape(3, 1).ravel(), 1)
        queue.synchronize()

    def waited_for(queue, ones):
        there = cuda.to_device(ones, stream=queue)
        add[1, 4, queue](there, 1)
        queue.synchronize()
        there = None

    def later(queue, ones):
        with cuda.defer_cleanup():
            add[1, 4, queue](cuda.to_device(ones, stream=queue), 1)
        queue.synchronize()

    assert freed_in_use(lost) == [(16, 1)]
    assert [freed_in_use(program) for program in (view_is_left, waited_for, later)] == [[], [], []]
