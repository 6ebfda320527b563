"""The rungs of the ladder: products checked, traffic counted, time measured."""

import statistics
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from kernels.config import WARP
from kernels.launch import on_stream
from kernels.matmul import launch_matmul_naive, launch_matmul_tiled
from kernels.plumbing.recording import STEPS_PER_GRAPH, Recorder
from kernels.products.tensor_cores import words_of_halves
from lessons.lab import checked_run
from lessons.lab.simulator.report import Report
from lessons.reference import products as reference

from .roofline import Roof

try:
    from kernels.products.large_tiles import launch_product_large_tiles
except ModuleNotFoundError:  # in a handout, since half of this lesson's solution stands there
    launch_product_large_tiles = None

NAMES = (
    "launch_product_registers", "launch_product_double_buffered", "launch_product_nt",
    "launch_product_tn", "launch_product_bias_gelu", "launch_product_halves",
)  # fmt: skip
# m, k, n: the smallest that are whole tiles of every rung, with one and with two rounds.
COUNTED_SIZES = (128, 32, 128), (128, 64, 128)
REPLAYS = 5  # of 64 launches each; the median counts
BYTES_PER_SECTOR, WORDS_PER_SECTOR = 32, 8
FORETOLD = 1024  # rows and columns of the product whose speed is foretold
INNER = 16  # barriers are counted per so many inner indices


class Rung(NamedTuple):
    """name: in the table. launch: a launch function. kind: which operands it takes.

    halves: whether it multiplies halves, on tensor cores.
    """

    name: str
    launch: Callable[..., None]
    kind: str = "nn"
    halves: bool = False


class Counted(NamedTuple):
    """What a product asks of memory: of each multiplication and addition, its part."""

    bytes_fetched: float
    shared_reads: float
    barriers: float  # per thread and INNER inner indices
    foretold: float  # GFLOP/s on an H200, FORETOLD x FORETOLD
    problems: list[str]

    @property
    def intensity(self) -> float:
        """Floating-point operations per byte that is fetched."""
        return 2 / self.bytes_fetched


def ladder(mine: SimpleNamespace) -> list[Rung]:
    """mine: the functions of this lesson, ours or the student's."""
    rungs = [
        Rung("one element (lesson 5)", launch_matmul_naive),
        Rung("tiles (lesson 5)", launch_matmul_tiled),
        Rung("4 x 4 registers", mine.launch_product_registers),
        Rung("two rounds", mine.launch_product_double_buffered),
        Rung("a @ b.T", mine.launch_product_nt, "nt"),
        Rung("a.T @ b", mine.launch_product_tn, "tn"),
        Rung("with bias and GELU", mine.launch_product_bias_gelu, "bias"),
        Rung("8 x 8 registers (to read)", launch_product_large_tiles),
        Rung("tensor cores, halves", mine.launch_product_halves, "nt", halves=True),
    ]
    return [rung for rung in rungs if rung.launch]


# ---------------------------------------------------------------- operands and results


class Operands:
    """Random factors of a product a (m, k) @ b (k, n), and what each kind of rung takes of them."""

    def __init__(self, seed: int, m: int, k: int, n: int) -> None:
        random = np.random.default_rng(seed)
        self.size = m, k, n
        self.a = random.uniform(-1, 1, (m, k)).astype(np.float32)
        self.b = random.uniform(-1, 1, (k, n)).astype(np.float32)
        self.bias = random.uniform(-1, 1, n).astype(np.float32)
        self.product: np.ndarray | None = None

    def of(self, rung: Rung) -> list[np.ndarray]:
        """The arrays that a rung's launch function takes, but for c."""
        first = self.a.T if rung.kind == "tn" else self.a
        second = self.b.T if rung.kind == "nt" else self.b
        arrays = [np.ascontiguousarray(first), np.ascontiguousarray(second)]
        if rung.halves:
            arrays = [words_of_halves(array) for array in arrays]
        return [*arrays, self.bias] if rung.kind == "bias" else arrays

    def error(self, rung: Rung, c: np.ndarray) -> float:
        """The largest error of a result, in parts of what rounding explains: right if below 1.

        A sum of k products, each rounded in float32, may be wrong by k / 2^23 of the largest. On
        tensor cores the factors are rounded first, and it is compared with those.
        """
        if rung.halves:
            halves = map(reference.rounded_to_halves, (self.a, self.b))
            expected = np.matmul(*(half.astype(np.float32) for half in halves))
        else:
            if self.product is None:
                self.product = self.a @ self.b
            expected = self.product
        if rung.kind == "bias":
            expected = reference.gelu(expected + self.bias)
        allowed = self.size[1] * 2.0**-23 * max(1.0, float(np.abs(expected).max()))
        worst = float(np.abs(c - expected).max())
        return worst / allowed if np.isfinite(worst) else np.inf


# ---------------------------------------------------------------- counted, without a GPU


def count(rung: Rung, seed: int) -> tuple[Counted, float]:
    """(what it asks of memory, its error) on the checked simulator.

    Counted is what INNER more inner indices cost, in a product of two sizes: what happens once,
    such as writing c, is not in it.
    """
    short, error, problems = count_once(rung, seed, COUNTED_SIZES[0])
    long, worse, more = count_once(rung, seed, COUNTED_SIZES[1])
    (m, first, n), (_, second, _) = COUNTED_SIZES
    added, products = long - short, m * n * (second - first)
    us = float(long[3] + added[3] / (second - first) * (FORETOLD - second))
    counted = Counted(
        bytes_fetched=BYTES_PER_SECTOR * added[0] / products,
        shared_reads=added[1] / products,
        barriers=added[2] * INNER / (second - first),
        foretold=2e-3 * FORETOLD**3 / us if us > 0 else 0.0,  # not a number: it has problems
        problems=[*problems, *more],
    )
    return counted, max(error, worse)


def count_once(
    rung: Rung, seed: int, size: tuple[int, int, int]
) -> tuple[np.ndarray, float, list[str]]:
    """((sectors fetched, reads of shared memory, barriers per thread, us), error, problems).

    us: foretold for an H200, of a product with as many inner indices, FORETOLD x FORETOLD.
    """
    m, k, n = size
    operands = Operands(seed, m, k, n)
    c = np.full((m, n), np.nan, np.float32)
    reports: list[Report] = []
    rung.launch(*operands.of(rung), c, launch=lambda *run: reports.append(checked_run(*run)))
    large, result = (
        Operands(seed, FORETOLD, k, FORETOLD),
        np.zeros((FORETOLD, FORETOLD), np.float32),
    )
    grids: list[Any] = []
    rung.launch(*large.of(rung), result, launch=lambda kernel, grid, *rest: grids.append(grid))
    traffic = [line for report in reports for line in report.counted.values()]
    sectors = sum(line.sectors for line in traffic if line.reads and not line.writes)
    if rung.halves:
        # The simulator copies word by word what a GPU copies in pieces of 16 bytes.
        sectors = sum(line.reads for line in traffic) // WORDS_PER_SECTOR
    warps = sum(int(np.prod(report.grid) * np.prod(report.block)) // WARP for report in reports)
    sums = (
        sectors,
        sum(line.shared_reads for line in traffic),
        sum(line.barriers for line in traffic) / warps,
        sum(map(foretold, reports, grids)) if all(report.ok for report in reports) else np.nan,
    )
    problems = [str(finding) for report in reports for finding in report.problems]
    return np.array(sums), operands.error(rung, c), problems


def foretold(report: Report, grid: Any) -> float:
    return report.predict("H200", grid).us


# ---------------------------------------------------------------- measured, on a GPU


def measure(rung: Rung, operands: Operands, device: Any) -> tuple[float, float]:
    """(GFLOP/s, error) on a GPU: the median of several replays of a graph of 64 launches."""
    m, k, n = operands.size
    arrays = [device.to_device(array) for array in operands.of(rung)]
    c = device.to_device(np.full((m, n), np.nan, np.float32))
    rung.launch(*arrays, c, launch=device.launch)  # compiles it
    device.synchronize()
    error = operands.error(rung, device.to_host(c))

    def launch_once(stream: Any) -> None:
        rung.launch(*arrays, c, launch=on_stream(stream))

    recorder = Recorder(launch_once)
    recorder.record()
    recorder.replay(STEPS_PER_GRAPH)  # warms up
    seconds = []
    for _ in range(REPLAYS):
        begin = time.perf_counter()
        recorder.replay(STEPS_PER_GRAPH)
        seconds.append(time.perf_counter() - begin)
    return 2 * m * k * n * STEPS_PER_GRAPH / statistics.median(seconds) / 1e9, error


def measure_torch(operands: Operands, halves: bool) -> float | None:
    """GFLOP/s of PyTorch's product in the same setting; None where there is no PyTorch."""
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    m, k, n = operands.size
    kind = torch.float16 if halves else torch.float32
    torch.backends.cuda.matmul.allow_tf32 = False  # float32 as it is said
    a, b = (torch.from_numpy(array).to("cuda", kind) for array in (operands.a, operands.b))
    c = a @ b
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(STEPS_PER_GRAPH):
            torch.matmul(a, b, out=c)
    graph.replay()
    torch.cuda.synchronize()
    seconds = []
    for _ in range(REPLAYS):
        begin = time.perf_counter()
        graph.replay()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
    return 2 * m * k * n * STEPS_PER_GRAPH / statistics.median(seconds) / 1e9


# ---------------------------------------------------------------- the roof


H200 = Roof("NVIDIA H200, data sheet", 4_800, 66_900, 989_000, 66_900 / 8)
# GFLOP/s of our kernels there, products of 2,048 x 2,048: benchmarks/README.md.
ON_H200 = {
    "one element (lesson 5)": 1_400, "tiles (lesson 5)": 7_700, "4 x 4 registers": 21_800,
    "8 x 8 registers (to read)": 28_900, "tensor cores, halves": 161_000,
}  # fmt: skip
# compute capability -> multiply-adds in float32 per clock tick and multiprocessor, where it is not
# the usual number; and how many times as many of halves. Source: NVIDIA, "CUDA C++ programming
# guide", table of arithmetic throughput; the architectures' white papers.
FLOAT_UNITS = {(7, 0): 64, (7, 5): 64, (8, 0): 64}
USUAL_FLOAT_UNITS = 128
HALVES_PER_FLOAT = {(8, 0): 16, (9, 0): 16}


def roof_of_this_gpu(name: str) -> Roof:
    """From the clocks that the driver tells."""
    from numba import cuda

    gpu = cuda.get_current_device()
    capability = tuple(gpu.compute_capability)
    units = FLOAT_UNITS.get(capability, USUAL_FLOAT_UNITS)
    float32 = 2 * units * gpu.MULTIPROCESSOR_COUNT * gpu.CLOCK_RATE / 1e6
    # Twice per tick of the memory's clock, on each wire of the bus.
    memory = 2 * gpu.MEMORY_CLOCK_RATE * gpu.GLOBAL_MEMORY_BUS_WIDTH / 8 / 1e6
    shared = WARP * gpu.MULTIPROCESSOR_COUNT * gpu.CLOCK_RATE / 1e6
    return Roof(name, memory, float32, float32 * HALVES_PER_FLOAT.get(capability, 0), shared)
