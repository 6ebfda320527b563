"""The checked simulator counts memory traffic, and records accesses for the picture."""

import numpy as np
from numba import cuda, float32

from lessons.lab import checked_run
from tests.lab.helpers import block_sum, floats, line_of_comment


@cuda.jit
def strided_copy(source, out):
    i = cuda.grid(1)
    out[i] = source[i * 8]


def traffic_on(report, line):
    return next(t for (_, number), t in report.traffic.items() if number == line)


def test_sectors_and_efficiency():
    report = checked_run(strided_copy, 1, 64, np.zeros(512, np.float32), np.zeros(64, np.float32))
    traffic = next(iter(report.traffic.values()))
    assert (traffic.reads, traffic.writes, traffic.requests) == (64, 64, 4)
    assert traffic.sectors == 2 * (32 + 4)
    assert (traffic.sectors_per_request, traffic.efficiency) == (18, 512 / (72 * 32))
    table = report.table()
    assert "sectors/request" in table and "out[i] = source[i * 8]" in table


@cuda.jit
def bank_conflicts(out):
    tile = cuda.shared.array((32, 32), float32)
    thread = cuda.threadIdx.x
    for k in range(32):
        tile[k, thread] = float32(k)
    cuda.syncthreads()
    total = float32(0)
    for k in range(32):
        total += tile[thread, k]  # here
    out[thread] = total


def test_bank_conflicts():
    report = checked_run(bank_conflicts, 1, 32, np.zeros(32, np.float32))
    traffic = traffic_on(report, line_of_comment(bank_conflicts))
    assert (traffic.shared_requests, traffic.shared_passes, traffic.worst_conflict) == (
        32,
        1024,
        32,
    )
    assert traffic_on(report, line_of_comment(bank_conflicts) - 4).worst_conflict == 1


@cuda.jit
def waits_in_rounds(out, rounds):
    for _ in range(rounds):
        cuda.syncthreads()  # here
    out[cuda.grid(1)] = 1


def test_barriers_are_counted_once_per_warp():
    report = checked_run(waits_in_rounds, 3, 70, np.zeros(210, np.float32), 5)
    assert traffic_on(report, line_of_comment(waits_in_rounds)).barriers == 5 * 3 * 3
    assert sum(traffic.barriers for traffic in report.traffic.values()) == 45
    (row,) = [line for line in report.table().splitlines() if "# here" in line]
    assert row.split()[1] == "45"


@cuda.jit
def counts_atomics(out):
    thread = cuda.threadIdx.x
    if thread % 2 == 0:  # here
        cuda.atomic.add(out, thread // 8, float32(1))


def test_atomic_multiplicity_and_divergence():
    report = checked_run(counts_atomics, 1, 64, np.zeros(8, np.float32))
    line = line_of_comment(counts_atomics)
    assert (traffic_on(report, line).branches, traffic_on(report, line).divergent) == (2, 2)
    traffic = traffic_on(report, line + 1)
    assert (traffic.atomics, traffic.atomic_multiplicity) == (32, 4)


def test_picture(tmp_path):
    report = checked_run(block_sum, 2, 8, floats(13), np.zeros(1, np.float32), record=True)
    assert {event.array for event in report.events} == {"values", "partial", "total"}
    assert max(event.phase for event in report.events) == 3
    report.picture(tmp_path / "accesses.png")
    assert (tmp_path / "accesses.png").read_bytes().startswith(b"\x89PNG")


@cuda.jit(device=True)
def as_it_is(value):
    return value


@cuda.jit
def named_twice(values, out):
    i = cuda.grid(1)
    out[i] = values[i] * values[i] + float32(values[i])  # 1 read
    out[i] += values[i] if values[0] > 0 else -values[i]  # 3 reads, of out, too
    out[i] = values[i] * as_it_is(values[i])  # 2 reads: the function might store
    out[i] += out[i]  # 1 read of out


def test_what_a_statement_names_twice_is_read_once():
    report = checked_run(named_twice, 1, 32, np.ones(32, np.float32), np.zeros(32, np.float32))
    first = named_twice.py_func.__code__.co_firstlineno + 3
    reads = [
        sum(traffic.reads for (_, at, _), traffic in report.counted.items() if at == first + line)
        for line in range(4)
    ]
    assert reads == [32, 32 * 3, 64, 32]
