"""How long it takes on a GPU: many launches in a CUDA graph, or one call of the host."""

import statistics
import time

from numba import cuda

from kernels.plumbing.recording import current_device, record

LAUNCHES = 20  # per graph
PARTS, SECONDS_PER_PART = 5, 0.008


def microseconds(start):
    """(median, smallest, largest) of one call of start(stream), which launches kernels.

    Graphs of LAUNCHES calls follow each other without a gap. One part takes SECONDS_PER_PART, so
    waiting for its end adds less than a thousandth.
    """
    device = current_device()
    stream = device.create_stream()
    start(0)  # compiles
    device.sync()
    graph = record(start, LAUNCHES)
    seconds_of(graph, stream, 1)
    replays = max(1, round(SECONDS_PER_PART / seconds_of(graph, stream, 3)))
    seconds_of(graph, stream, replays)  # the clock rises while it works
    parts = [seconds_of(graph, stream, replays) / LAUNCHES * 1e6 for _ in range(PARTS)]
    return statistics.median(parts), min(parts), max(parts)


def start(kernel, grid, block, arguments, stream):
    kernel[grid, block, stream](*arguments)


def seconds_of(graph, stream, replays):
    """Per replay of the graph."""
    begin = time.perf_counter()
    for _ in range(replays):
        graph.launch(stream)
    stream.sync()
    return (time.perf_counter() - begin) / replays


def best_of(run, rounds=3):
    """Seconds of the fastest of several calls, after one that compiles."""
    run()
    times = []
    for _ in range(rounds):
        cuda.synchronize()
        begin = time.perf_counter()
        run()
        cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return min(times)
