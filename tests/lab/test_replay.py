"""The replay's data: what a run records of its steps, and the file that holds it."""

import json
import re

import numpy as np
import pytest
from numba import cuda, float32

from lessons.lab import checked_run
from lessons.lab.errors import InputError
from lessons.lab.simulator import events
from lessons.lab.simulator.findings import Finding
from lessons.lab.simulator.replay import data
from lessons.lab.simulator.replay.annotate import holds, with_wrong_result
from lessons.lab.simulator.replay.data import (
    encode_values,
    encode_whole_numbers,
    linear,
    shown_steps,
    shown_threads,
    threads_of,
)
from lessons.lab.simulator.replay.page import replay_page
from tests.lab.helpers import block_sum, floats, line_of_comment, no_guard

MEGABYTE = 1_000_000


def expanded(encoded):
    if isinstance(encoded, list):
        return encoded
    runs = np.reshape(encoded["runs"], (-1, 3))
    return [first + k * step for first, step, count in runs.tolist() for k in range(count)]


def values_of(encoded):
    return encoded if isinstance(encoded, list) else [encoded["same"]] * encoded["count"]


class Replay:
    """The content of a page, with its lists written out."""

    def __init__(self, report):
        self.content = json.loads(report.replay_data())
        lists = [expanded(encoded) for encoded in self.content["lists"]]
        self.steps = self.content["steps"]
        self.findings = self.content["findings"]
        self.threads = lists[self.content["threads"]]
        for step in self.steps:
            step["threads"] = lists[step["threads"]]
            if "elements" in step:
                step["elements"] = lists[step["elements"]]

    @property
    def kinds(self):
        return [step["kind"] for step in self.steps]

    def memory(self, array):
        """What an array holds at the end: its first values, and all that was written."""
        facts = self.content["arrays"][array]
        values = dict(enumerate(values_of(facts["initial"]))) if "initial" in facts else {}
        for step in self.steps:
            if step.get("array") == array and "values" in step:
                values.update(zip(step["elements"], values_of(step["values"]), strict=True))
        return [values[element] for element in sorted(values)]


def replay_of(kernel, grid, block, *arrays):
    return Replay(checked_run(kernel, grid, block, *arrays, record=True))


# ---------------------------------------------------------------- what is recorded


@cuda.jit
def turned_too_early(values, result):
    tile = cuda.shared.array(8, float32)
    thread = cuda.threadIdx.x
    tile[thread] = values[thread]
    result[thread] = tile[7 - thread]  # here


def test_a_race_has_the_steps_of_both_threads():
    replay = replay_of(turned_too_early, 1, 8, floats(8), floats(8))
    assert replay.kinds == ["read", "write", "read", "write"]
    (race,) = [finding for finding in replay.findings if not finding["advice"]]
    assert (race["kind"], race["step"], race["other"]) == ("race", 2, 1)
    assert race["threads"] == [0, 7]
    assert replay.steps[2]["line"] == line_of_comment(turned_too_early) == race["line"]
    assert replay.steps[2]["marked"] == [7]
    assert replay.steps[2]["elements"] == [7, 6, 5, 4, 3, 2, 1, 0]


def test_values_are_those_of_the_arrays():
    total, values = np.zeros(1, np.float32), floats(100)
    replay = replay_of(block_sum, 3, 40, values, total)
    names = [array["name"] for array in replay.content["arrays"]]
    assert np.allclose(replay.memory(names.index("values")), values, rtol=1e-3)
    assert replay.memory(names.index("total")) == [pytest.approx(total[0], rel=1e-3)]
    assert "initial" not in replay.content["arrays"][names.index("partial")]
    assert replay.kinds.count("barrier") == 5


def test_threads_are_numbered_without_those_that_fill_up_a_warp():
    result = np.zeros(80, np.float32)
    replay = replay_of(no_guard, 2, 40, np.arange(80, dtype=np.float32), result)
    write = replay.steps[-1]
    assert write["threads"] == write["elements"] == list(range(80))


def test_an_index_outside_keeps_the_index_and_its_threads():
    replay = replay_of(no_guard, 2, 8, floats(13), floats(13))
    step = replay.steps[0]
    assert step["kind"] == "outside" and step["findings"] == [0]
    assert step["threads"] == [13, 14, 15] and step["wanted"] == [[13], [14], [15]]
    assert replay.findings[0]["step"] == 0


@cuda.jit
def barrier_for_some(values):
    i = cuda.grid(1)
    if i < values.shape[0]:
        cuda.syncthreads()  # here


def test_a_barrier_that_some_miss_is_a_step_with_those_who_came():
    replay = replay_of(barrier_for_some, 1, 8, floats(5))
    assert replay.kinds == ["branch", "barrier"]
    assert replay.steps[0]["elements"] == [1] * 5 + [0] * 3
    assert replay.steps[1]["threads"] == [0, 1, 2, 3, 4] and replay.steps[1]["findings"] == [0]
    assert replay.findings[0]["threads"] == [0, 5]


@cuda.jit
def waits_for_ever(flag):
    while flag[0] == 0:  # here
        pass


def test_a_loop_without_an_end_ends_with_a_step_of_its_own():
    report = checked_run(waits_for_ever, 1, 2, np.zeros(1, np.int32), record=True, budget=300)
    replay = Replay(report)
    assert replay.kinds[-1] == "finding" and set(replay.kinds[:-1]) == {"read"}
    assert replay.findings[0]["step"] == len(replay.steps) - 1
    assert replay.steps[-1]["line"] == line_of_comment(waits_for_ever)


@cuda.jit
def no_such_thing(values):
    values[0] = {"</script>": 1}


def test_a_kernel_that_does_not_compile_has_its_source_and_finding():
    replay = replay_of(no_such_thing, 1, 8, floats(8))
    assert replay.kinds == ["finding"] and replay.findings[0]["kind"] == "compile"
    assert '"</script>"' in replay.content["sources"][0]["lines"][2]
    assert "no steps" in replay.content["notes"][0]


def test_without_a_recording_the_page_says_how_to_get_one():
    report = checked_run(turned_too_early, 1, 8, floats(8), floats(8))
    assert report.recording is None
    replay = Replay(report)
    assert "record=True" in replay.content["notes"][0] and replay.findings[0]["kind"] == "race"


@cuda.jit(device=True)
def half(values, i):
    return values[i] * float32(0.5)


@cuda.jit
def calls_half(values):
    i = cuda.grid(1)
    values[i] = half(values, i)


def test_a_step_in_a_device_function_has_its_source():
    replay = replay_of(calls_half, 1, 4, floats(4))
    names = [replay.content["sources"][step["source"]]["name"] for step in replay.steps]
    assert names == ["half", "calls_half"]


# ---------------------------------------------------------------- large runs


@cuda.jit
def scattered(places, values):
    i = cuda.grid(1)
    total = float32(0)
    for k in range(40):
        total += values[places[(i + 7919 * k) % places.shape[0]]]
    values[i] += total


@pytest.mark.slow
def test_a_page_is_never_larger_than_two_megabytes(tmp_path):
    places = np.random.default_rng(0).permutation(1 << 16).astype(np.int32)
    report = checked_run(scattered, 64, 1024, places, floats(1 << 16), record=True)
    report.html(tmp_path / "large.html")
    assert MEGABYTE / 2 < (tmp_path / "large.html").stat().st_size < 2 * MEGABYTE
    replay = Replay(report)
    assert len(replay.threads) >= 1024 and "65,536 threads" in replay.content["notes"][0]


@pytest.mark.slow
def test_what_does_not_fit_is_left_out_and_said(monkeypatch):
    monkeypatch.setattr(data, "MAX_BYTES", 20_000)
    monkeypatch.setattr(data, "MOST_THREADS", 512)
    places = np.random.default_rng(0).permutation(1024).astype(np.int32)
    report = checked_run(scattered, 32, 32, places, floats(1024), record=True)
    assert len(report.replay_data()) <= 20_000
    replay = Replay(report)
    assert 32 <= len(replay.threads) < 1024
    assert f"{len(replay.threads):,} of 1,024 threads" in replay.content["notes"][0]
    # What hidden threads did to the array is not known, so its first values are not shown.
    assert all("initial" not in array for array in replay.content["arrays"])
    reads = [step for step in replay.steps if step["kind"] == "read" and step["array"] == 0]
    assert all("values" in step for step in reads)


@cuda.jit
def race_in_the_last_round(values, rounds):
    i = cuda.grid(1)
    for _ in range(rounds):
        values[i] += float32(1)
    values[i] = values[(i + 1) % 8]  # here


def test_of_a_long_run_the_beginning_and_what_leads_to_a_finding_is_kept(monkeypatch):
    monkeypatch.setattr(events, "MOST_FIRST_STEPS", 20)
    report = checked_run(race_in_the_last_round, 1, 8, floats(8), np.int32(500), record=True)
    replay = Replay(report)
    assert replay.steps[0]["kind"] == "read" and "before" not in replay.steps[1]
    left_out = [step["before"] for step in replay.steps if "before" in step]
    # The race is in the read, or in the write one step later, which is kept as the last.
    assert len(replay.steps) + sum(left_out) == 1002
    assert replay.findings[0]["line"] == line_of_comment(race_in_the_last_round)
    assert f"{sum(left_out):,} more are left out" in replay.content["notes"][0]


def test_the_block_of_a_finding_is_among_those_that_are_shown():
    replay = replay_of(no_guard, 200, 256, floats(200 * 256 - 3), floats(200 * 256 - 3))
    assert replay.findings[0]["threads"][0] in replay.threads
    assert 0 in replay.threads and len(replay.threads) == 2048


@pytest.mark.parametrize("seed", range(20))
def test_whole_numbers_survive(seed):
    random = np.random.default_rng(seed)
    parts = [random.integers(-9, 9, seed), np.arange(seed) * 3 + seed, np.full(seed, -1)]
    numbers = np.concatenate(parts).astype(np.int64)
    assert expanded(encode_whole_numbers(numbers)) == numbers.tolist()
    assert expanded(encode_whole_numbers(np.sort(numbers))) == sorted(numbers.tolist())


def test_a_thousand_neighbours_are_three_numbers():
    assert encode_whole_numbers(np.arange(5, 1005)) == {"runs": [5, 1, 1000]}


def test_values_are_numbers_or_short_texts():
    odd = [1 / 3, np.nan, -np.inf, 1e30]
    assert encode_values(np.array(odd)) == [0.3333, "nan", "-inf", 1e30]
    assert encode_values(np.array([True, False])) == [1, 0]
    assert encode_values(np.array([1 + 2j])) == ["1+2j"]
    assert encode_values(np.array([2**60, 1])) == ["1.153e+18", 1]
    record = np.zeros(1, [("a_long_name", "f4"), ("b", "i8")])
    assert all(len(text) <= 12 for text in encode_values(record))


def test_threads_of_a_finding():
    finding = Finding("race", 1, "", thread=(3, 1, 0), block=(0, 2, 0), other_thread=(7, 0, 0))
    assert threads_of(finding, (2, 4, 1), (4, 2, 1)) == [4 * 8 + 7]
    finding = finding._replace(other_block=(1, 0, 0))
    assert threads_of(finding, (2, 4, 1), (8, 2, 1)) == [4 * 16 + 11, 16 + 7]
    assert linear((1, 2, 3), (4, 5, 6)) == 1 + 4 * (2 + 5 * 3)


def test_what_matters_is_shown_first():
    assert shown_steps([50], 100, 10) == [0, 1, 2, 3, 4, 47, 48, 49, 50, 51]
    assert shown_steps([], 5, 10) == [0, 1, 2, 3, 4]
    assert shown_threads([], [130], 64, 100).tolist() == list(range(128, 192))
    few = shown_threads([], [1000], 1024, 64).tolist()
    assert few == [*range(64), *range(992, 1024)]


# ---------------------------------------------------------------- a wrong result


def test_a_wrong_element_leads_to_who_wrote_it():
    report = checked_run(turned_too_early, 1, 8, floats(8), floats(8), record=True)
    told = json.loads(with_wrong_result(report.replay_data(), "no", "result", (8,), 5))
    first = told["findings"][0]
    assert (first["kind"], first["message"], first["marked"]) == ("wrong result", "no", [5])
    assert told["steps"][first["step"]]["kind"] == "write"
    assert first["line"] == line_of_comment(turned_too_early)
    # The numbers of the other findings have moved on by one.
    assert told["steps"][2]["findings"] == [1] and told["findings"][1]["kind"] == "race"
    unknown = json.loads(with_wrong_result(report.replay_data(), "no", "r", (9,), 5))
    assert unknown["findings"][0]["step"] == -1


@pytest.mark.parametrize("nonsense", ["", "[]", "{}", '{"arrays": 3}', '{"arrays": [{}]}', "null"])
def test_what_is_no_data_of_a_replay_is_refused(nonsense):
    with pytest.raises(ValueError):
        with_wrong_result(nonsense, "no", "result", (8,), 5)


@pytest.mark.parametrize("numbers", [[3, 1, 4], [5, 6, 7, 8], [9, 9, 9, 9], [8, 6, 4, 2], []])
def test_a_short_list_holds_what_the_long_one_does(numbers):
    encoded = encode_whole_numbers(np.array(numbers, np.int64))
    assert [n for n in range(12) if holds(encoded, n)] == sorted(set(numbers))


# ---------------------------------------------------------------- the page


def test_the_page_needs_nothing_else_and_says_so_to_the_browser():
    report = checked_run(turned_too_early, 1, 8, floats(8), floats(8), record=True)
    page = replay_page(report.replay_data())
    assert not re.search(r"https?:|src=|@import|url\(|href=", page)
    assert "default-src 'none'" in page and "<!--" not in page
    assert len(page) < 0.15 * MEGABYTE


def test_no_text_of_a_kernel_can_end_the_script():
    page = replay_page(checked_run(no_such_thing, 1, 8, floats(8), record=True).replay_data())
    assert page.count("</script>") == 2 and "\\u003c/script\\u003e" in page
    assert "<b>" not in replay_page('{"kernel": "<b>"}').split("<body>")[0]
    with pytest.raises(ValueError):
        replay_page("</script>")


def test_the_file_is_whole_or_the_old_one(tmp_path, monkeypatch):
    report = checked_run(turned_too_early, 1, 8, floats(8), floats(8), record=True)
    path = tmp_path / "replay.html"
    report.html(path)
    first = path.read_bytes()
    assert first.startswith(b"<!doctype html>") and first.rstrip().endswith(b"</html>")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="cannot write") as caught:
        report.html(tmp_path / "file" / "replay.html")
    assert "\n" not in str(caught.value)
    report.html(str(path))
    assert path.read_bytes() == first
    assert sorted(found.name for found in tmp_path.iterdir()) == ["file", "replay.html"]
