"""Measure what a GPU's parts can do: the constants of `report.predict`.

    python -m benchmarks.calibrate --save h200-calibration     measure, on a GPU
    python -m benchmarks.calibrate --constants h200-calibration     anywhere

Each kernel here keeps one part busy: the schedulers, shared memory, a cache, memory, one address.
Most have a loop. It is measured with so many rounds and twice as many; the difference over the
rounds is what one costs, whatever a launch costs. `--constants` turns what was measured into
`lessons/lab/simulator/foretell/gpus/h200.json`, and prints it.
"""

import json
from functools import partial
from pathlib import Path

import numpy as np
from numba import cuda, float32, int32, int64, uint32

from benchmarks.graph_time import microseconds, start
from benchmarks.machine import RESULTS, parser_of, require_gpu, save
from kernels.fast.ptx import multiply_halves

GPUS = Path(__file__).parents[1] / "lessons" / "lab" / "simulator" / "foretell" / "gpus"
WRITTEN_OUT = 16  # rounds of an inner loop that the compiler writes one after the other
TILE = 4608  # numbers: 4,096 places to begin at, and some to go on
BEGINS = 4096


@cuda.jit
def nothing(out):
    if out.shape[0] == 0:
        out[0] = float32(1)


def chain_of(step, kind):
    """A kernel in which each thread computes `rounds` times 16 steps, each from the last one."""
    step = cuda.jit(device=True)(step)

    @cuda.jit
    def chain(out, rounds, x):
        value = kind(cuda.threadIdx.x) * x
        for _ in range(rounds):
            for _ in range(WRITTEN_OUT):
                value = step(value, x)
        if value == kind(-12345.678):
            out[0] = float32(value)

    return chain


def multiply_and_add(value, x):
    return value * x + x


def differ_and_add(value, x):
    return (value ^ x) + x


def shuffle(value, x):
    return cuda.shfl_xor_sync(0xFFFFFFFF, value, 1) + x


CHAINS = {
    "fma": (chain_of(multiply_and_add, float32), np.float32(0.5)),
    "add": (chain_of(differ_and_add, int64), np.int64(3)),
    "shuffle": (chain_of(shuffle, float32), np.float32(0.5)),
}


@cuda.jit
def multiply_tiles(out, rounds, x):
    """Eight products of a warp on tensor cores per round, none of which waits for another."""
    sums = cuda.local.array((8, 4), float32)
    word = uint32(cuda.threadIdx.x) * uint32(x)
    for i in range(8):
        for j in range(4):
            sums[i, j] = float32(0)
    for _ in range(rounds):
        for i in range(8):
            sums[i, 0], sums[i, 1], sums[i, 2], sums[i, 3] = multiply_halves(
                word, word, word, word, word, word, sums[i, 0], sums[i, 1], sums[i, 2], sums[i, 3]
            )
    total = float32(0)
    for i in range(8):
        for j in range(4):
            total += sums[i, j]
    if total == float32(-12345.678):
        out[0] = total


@cuda.jit
def read_shared(out, rounds, stride):
    tile = cuda.shared.array(TILE, float32)
    thread = uint32(cuda.threadIdx.x)
    for i in range(thread, TILE, cuda.blockDim.x):
        tile[i] = float32(i)
    cuda.syncthreads()
    total = float32(0)
    for i in range(rounds):
        begin = (thread * uint32(stride) + uint32(i)) & uint32(BEGINS - 1)
        for j in range(WRITTEN_OUT):
            total += tile[begin + uint32(32 * j)]
    if total == float32(-12345.678):
        out[0] = total


@cuda.jit
def read_small(data, out, rounds, stride):
    """As `read_shared`, from global memory that fits into the first cache."""
    thread = uint32(cuda.threadIdx.x)
    total = float32(0)
    for i in range(rounds):
        begin = (thread * uint32(stride) + uint32(i)) & uint32(BEGINS - 1)
        for j in range(WRITTEN_OUT):
            total += data[begin + uint32(32 * j)]
    if total == float32(-12345.678):
        out[0] = total


@cuda.jit
def read_large(data, out, rounds, stride):
    """Each round of the grid reads another part of data, whose size is a power of two."""
    mask = uint32(data.shape[0] - 1)
    step = uint32(1_700_032)  # so that a processor reads in each round what it has not read yet
    total = float32(0)
    for i in range(rounds):
        total += data[(uint32(cuda.grid(1)) * uint32(stride) + uint32(i) * step) & mask]
    if total == float32(-12345.678):
        out[0] = total


@cuda.jit
def copy(data, out):
    i = uint32(cuda.grid(1))
    out[i] = data[i]


@cuda.jit
def follow(links, out, rounds):
    """One thread goes from link to link: the latency of a read."""
    place = uint32(0)
    for _ in range(rounds):
        place = links[place]
    if place == uint32(0xFFFFFFFF):
        out[0] = float32(1)


@cuda.jit
def follow_shared(out, rounds):
    links = cuda.shared.array(64, uint32)
    links[cuda.threadIdx.x] = uint32(cuda.threadIdx.x + 7) & uint32(31)
    cuda.syncthreads()
    place = uint32(cuda.threadIdx.x)
    for _ in range(rounds):
        place = links[place]
    if place == uint32(0xFFFFFFFF):
        out[0] = float32(1)


def adder(kind):
    @cuda.jit
    def add_places(out, rounds, per_thread, per_block, places):
        """Atomic additions: `places` is how many different ones there are, a power of two."""
        first = uint32(cuda.threadIdx.x * per_thread + cuda.blockIdx.x * per_block)
        for i in range(rounds):
            place = (first + uint32(i) * uint32(4099 * 32)) & uint32(places - 1)
            cuda.atomic.add(out, place, kind(1))

    @cuda.jit
    def add_shared(out, rounds, places):
        own = cuda.shared.array(1024, kind)
        thread = uint32(cuda.threadIdx.x)
        own[thread] = kind(0)
        cuda.syncthreads()
        for i in range(rounds):
            cuda.atomic.add(own, (thread + uint32(i)) & uint32(places - 1), kind(1))
        cuda.syncthreads()
        if own[thread] == kind(-12345):
            out[0] = kind(1)

    return add_places, add_shared


ADDERS = {"int": (adder(int32), np.int32), "float": (adder(float32), np.float32)}


@cuda.jit
def meet(out, rounds):
    for _ in range(rounds):
        cuda.syncthreads()
    if out.shape[0] == 0:
        out[0] = float32(1)


def links_of(bytes_, line=128):
    """A closed way through all lines of so many bytes, in random order."""
    lines = bytes_ // line
    order = np.random.default_rng(0).permutation(lines).astype(np.uint32)
    words = np.zeros(lines * line // 4, np.uint32)
    words[order * (line // 4)] = np.roll(order, -1) * (line // 4)
    return words


def cases(processors):
    """Yields (what, kernel, grid, block, arguments, where among them the rounds are or None)."""
    out = cuda.to_device(np.zeros(32, np.float32))
    one, two = processors, 2 * processors
    for blocks in (1, one, 10 * one, 100 * one, 1000 * one):
        for threads in (32, 256, 1024):
            yield f"launch {blocks} {threads}", nothing, blocks, threads, (out,), None
    for name, (kernel, x) in CHAINS.items():
        yield f"chain {name}", kernel, one, 32, (out, 500, x), 1
    yield "rate tensor", multiply_tiles, one, 256, (out, 500, np.uint32(3)), 1
    for stride in (8, 32):
        yield f"shared {stride}", read_shared, one, 1024, (out, 100, stride), 1
    small = cuda.to_device(np.zeros(TILE, np.float32))
    for stride in (8, 32):
        yield f"small {stride}", read_small, two, 1024, (small, out, 100, stride), 2
    for name, power in (("cache", 22), ("memory", 28)):
        data = cuda.to_device(np.zeros(1 << power, np.float32))
        for stride in (1, 8):
            blocks = (1 << power) // 256 // stride
            rounds = 16 if power == 22 else 1
            yield f"{name} {stride}", read_large, blocks, 256, (data, out, rounds, stride), 2
    from_, to = (cuda.device_array(1 << 26, np.float32) for _ in range(2))
    yield "copy 26", copy, (1 << 26) // 256, 256, (from_, to), None
    for name, bytes_ in (("small", 16 << 10), ("cache", 8 << 20), ("memory", 256 << 20)):
        yield f"follow {name}", follow, 1, 1, (cuda.to_device(links_of(bytes_)), out, 1000), 2
    yield "follow shared", follow_shared, 1, 32, (out, 1000), 1
    for kind, ((places_kernel, shared_kernel), dtype) in ADDERS.items():
        totals = cuda.to_device(np.zeros(1 << 22, dtype))
        for name, per_thread, per_block, places in (
            ("one address", 0, 0, 1), ("an address per block", 0, 32, 1 << 22),
            ("32 addresses", 1, 0, 32), ("1024 addresses", 1, 0, 1024),
            ("neighbours", 1, 256, 1 << 22), ("scattered", 33, 8448, 1 << 22),
        ):  # fmt: skip
            given = totals, 8, per_thread, per_block, places
            yield f"add {kind}, {name}", places_kernel, 8 * one, 256, given, 1
        for places in (1, 4, 32, 1024):
            given = totals, 100, places
            yield f"add shared {kind} {places}", shared_kernel, two, 1024, given, 1
    for blocks, threads in ((one, 32), (one, 256), (one, 1024), (8 * one, 256)):
        yield f"barrier {blocks // one} {threads}", meet, blocks, threads, (out, 500), 1


def measured():
    device = cuda.get_current_device()
    processors = device.MULTIPROCESSOR_COUNT
    rows = []
    for what, kernel, grid, block, arguments, where in cases(processors):
        found = []
        for factor in (1,) if where is None else (1, 2):
            given = list(arguments)
            if where is not None:
                given[where] = given[where] * factor
            found.append(microseconds(partial(start, kernel, grid, block, given)))
        us, *spread = found[0]
        row = {"what": what, "grid": grid, "block": block, "us": us, "spread": spread}
        if where is not None:
            row |= {"rounds": arguments[where], "us_twice": found[1][0]}
            row["us_per_round"] = (found[1][0] - us) / arguments[where]
        rows.append(row)
        per_round = f"{row.get('us_per_round', float('nan')):12.6f} us per round"
        print(f"{what:32} {row['us']:10.3f} us {per_round}", flush=True)
    facts = {"processors": processors, "clock_mhz": device.CLOCK_RATE / 1000}
    facts["l2_bytes"] = device.L2_CACHE_SIZE
    return facts, rows


# What no kernel here has measured: from NVIDIA's documents and papers on Hopper. So is the latency
# of memory behind the second cache.
GIVEN = {"warps": 64, "blocks": 32, "registers": 65536, "shared_bytes": 228 << 10, "slots": 4}
MEMORY_LATENCY = 630
REQUESTS = 8 * 256 // 32  # of a processor, in one round of the atomic additions


def constants_of(result):
    """The constants of a GPU, from what `measured` has found. Times in cycles."""
    rows = {row["what"]: row for row in result["rows"]}
    processors = result["processors"]
    clock = 4 * WRITTEN_OUT / rows["chain fma"]["us_per_round"] / 1000  # 4 cycles each: Hopper's

    def cycles(what):
        return rows[what]["us_per_round"] * clock * 1000

    requests = REQUESTS * processors
    adds, first, last = 32 * requests, rows["launch 1320 256"], rows["launch 132000 256"]
    block = (last["us"] - first["us"]) / (last["grid"] - first["grid"]) * clock * 1000
    sector = cycles("add int, 32 addresses") / requests / 4
    add = cycles("chain add") / WRITTEN_OUT / 2
    found = {
        "clock_ghz": clock, "launch_us": rows["launch 1 32"]["us"], "cycles_per_block": block,
        "cycles_per_pass": cycles("small 8") / (64 * WRITTEN_OUT * 8),
        "cache_bytes": 0.8 * result["l2_bytes"],
        "cache_sectors_per_cycle": (1 << 22) / 8 / cycles("cache 1"),
        "memory_bytes_per_cycle": (1 << 30) / (rows["memory 8"]["us"] * clock * 1000),
        "cycles_per_product": cycles("rate tensor") / 64,
        "cycles_per_atomic_sector": sector,
        "atomic_units": sector / (cycles("add int, neighbours") / requests / 4),
        "cycles_per_meeting_int": cycles("add int, one address") / adds,
        "cycles_per_meeting_float": cycles("add float, one address") / adds,
        "cycles_per_shared_atomic_int": cycles("add shared int 32") / 64,
        "cycles_per_shared_atomic_float": cycles("add shared float 1024") / 64,
        "cycles_per_shared_meeting": cycles("add shared float 1") / 64 / 32,
    }  # fmt: skip
    latency = {
        "global": cycles("follow cache") - add, "memory": MEMORY_LATENCY,
        "shared": cycles("follow shared") - add, "local": cycles("follow small") - add,
        "bar": cycles("barrier 1 256") - add, "shfl": cycles("chain shuffle") / WRITTEN_OUT - 4,
        "other": add,
    }  # fmt: skip
    found = {key: float(f"{value:.4g}") for key, value in found.items()}
    latency = {key: round(value, 1) for key, value in latency.items()}
    return {"processors": processors, **GIVEN, **found, "latency": latency}


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--constants", metavar="NAME", help="of results/NAME.json, for the lab")
    parser.add_argument("--gpu", default="H200", help="what it is called there (default: H200)")
    options = parser.parse_args()
    if options.constants:
        result = json.loads((RESULTS / f"{options.constants}.json").read_text())
        text = json.dumps(constants_of(result), indent=1) + "\n"
        (GPUS / f"{options.gpu.lower()}.json").write_text(text)
        print(text)
        return
    require_gpu()
    facts, rows = measured()
    save(options.save, **facts, rows=rows)


if __name__ == "__main__":
    main()
