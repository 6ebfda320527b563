"""Why these microseconds: where one step of `persistent` spends its time.

    python -m benchmarks.timeline --save h200-timeline

The kernel with one barrier per step is compiled once more with clock reads in it, at the places
below. The first lane of the first warp of each half of a block reads its processor's clock there:
the *front* (producers) does the samples, the *rear* (consumers) sums gradients. The page with the
results is `benchmarks/TIMELINE.md`. Reading the clock takes time too, so both speeds are printed:
with the reads and without.
"""

import inspect
import linecache

import numpy as np
from llvmlite import ir
from numba import cuda, typeof
from numba.core import types
from numba.core.typing.templates import signature
from numba.cuda.extending import intrinsic
from PIL import Image

from benchmarks.graph_time import best_of
from benchmarks.machine import RESULTS, parser_of, save
from kernels.config import Config
from kernels.fast import persistent_one_barrier as one_barrier
from kernels.files.images import load_image
from kernels.files.plot import Sheet
from kernels.files.style import GRID, INK, MUTED
from kernels.state import initial_state
from kernels.training.persistent_backends import OneBarrierBackend

LAKE = "images/lake.png"
FIRST_SEEN, STEPS_SEEN, STEPS = 300, 200, 20_000
HALVES = ("front", "rear")
PRODUCER_WARPS = one_barrier.SAMPLES // one_barrier.GROUP
SHADES = ((166, 206, 227), (178, 223, 138), (253, 191, 111), (202, 178, 214), (251, 154, 153))

# In the kernel's source: (a line, whether the clock is read before it or after it).
PLACES = (
    ("            # What the last step has added.", "before"),
    ("            cuda.syncthreads()\n\n            # Forward;", "before"),
    ("            # Forward; meanwhile, for the next steps", "before"),
    ("            wait_for_producers(producer, FORWARD_DONE)", "before"),
    ("            # Backward; meanwhile the gradients", "before"),
    ("            wait_for_producers(producer, BACKWARD_DONE)", "before"),
    ("            if producer:\n                scatter(", "before"),
    ("            # While others arrive: what is known", "before"),
    ("            wait_at_barrier(counter, i + 2)", "before"),
)
# What lies between a place and the next one: (in the front, in the rear).
PHASES = (
    ("gradients of the last step: read, move cells and weights", "the same"),
    ("wait for the block", "wait for the block"),
    ("forward", "own cells moved, next colours looked up"),
    ("(passes)", "wait for the front"),
    ("backward", "weights' gradients, last and middle layers"),
    ("(passes)", "wait for the front"),
    ("gradients of cells added", "weights' gradients, first layer"),
    ("what is known of the next step", "the same, and the next samples drawn"),
    ("wait for all blocks", "wait for all blocks"),
)
WAITING = ("wait", "(passes)")


@intrinsic
def clock(context):
    """The processor's clock, in cycles; kept in its place among reads and writes."""

    def generate(context, builder, signature_, arguments):
        kind = ir.FunctionType(ir.IntType(64), [])
        text = "mov.u64 $0, %clock64;"
        return builder.call(ir.InlineAsm(kind, text, "=l,~{memory}", True), [])

    return signature(types.int64), generate


@cuda.jit(device=True)
def note(times, place, i, producer, thread):
    """times: (blocks, 2, STEPS_SEEN, places) int64."""
    if thread & 31 == 0 and FIRST_SEEN <= i < FIRST_SEEN + STEPS_SEEN:
        warp = thread >> 5
        if warp == 0 or warp == PRODUCER_WARPS:
            times[cuda.blockIdx.x, 0 if producer else 1, i - FIRST_SEEN, place] = clock()


def with_clock_reads():
    """The module `persistent_one_barrier` with a kernel that takes one argument more, `times`."""
    source = inspect.getsource(one_barrier)
    head = "def train(arrays, learning_rates, first_step, settings, counter)"
    source = replaced(source, head, head.replace("counter)", "counter, times)"))
    for place, (line, _) in enumerate(PLACES):
        read = f"            note(times, {place}, i, producer, thread)\n"
        source = replaced(source, line, read + line)
    # Numba asks for the source by its file's name.
    name = "one_barrier_with_clock_reads.py"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names = {"__name__": "kernels.fast.persistent_one_barrier_with_clock_reads", "note": note}
    exec(compile(source, name, "exec"), names)
    return names


def replaced(source, old, new):
    if source.count(old) != 1:
        raise ValueError(f"{old!r} is {source.count(old)} times in the kernel: mend PLACES")
    return source.replace(old, new)


def measured(image, config):
    """(cycles (blocks, 2, steps, places + 1), us per step without the reads, and with them)."""
    backend = OneBarrierBackend(image, config, initial_state(config))
    rates = np.full((STEPS, 2), 0.001, np.float32)
    plain = microseconds(lambda: backend.run(1, rates))
    train, threads = with_clock_reads()["make_train_one_barrier"](config.hidden, config.layers)
    times = cuda.to_device(np.zeros((backend.blocks, 2, STEPS_SEEN, len(PLACES)), np.int64))
    on_gpu_rates = cuda.to_device(rates)

    def run():
        backend.counter.copy_to_device(np.zeros(1, np.uint32))
        train[backend.blocks, threads](
            backend.arrays, on_gpu_rates, np.int64(1), backend.settings, backend.counter, times
        )
        cuda.synchronize()

    read = microseconds(run)
    arguments = backend.arrays, on_gpu_rates, np.int64(1), backend.settings, backend.counter, times
    compiled = train.overloads[tuple(map(typeof, arguments))]
    print(f"with clock reads: {compiled.regs_per_thread} registers, "
          f"{compiled.local_mem_per_thread} bytes of local memory")  # fmt: skip
    cycles = times.copy_to_host()
    # A step ends where the next begins.
    ends = cycles[:, :, 1:, :1]
    return np.concatenate([cycles[:, :, :-1], ends], axis=3), plain, read


def microseconds(run):
    """The best of some runs, per step."""
    return best_of(run, 5) / STEPS * 1e6


def phases_of(cycles, us_per_step):
    """Rows (half, phase, mean us, us of the quickest and the slowest tenth of blocks)."""
    length = cycles[..., -1] - cycles[..., 0]
    us_per_cycle = us_per_step / length.mean()
    spent = np.diff(cycles, axis=3) * us_per_cycle
    rows = []
    for half, name in enumerate(HALVES):
        for place, phase in enumerate(PHASES):
            per_block = spent[:, half, :, place].mean(axis=1)
            quick, slow = np.percentile(per_block, (10, 90))
            rows.append((name, phase[half], float(per_block.mean()), float(quick), float(slow)))
    return rows


def plot(rows, us_per_step, path):
    sheet = Sheet(1180, 430)
    left, right = 90, 1140
    scale = (right - left) / us_per_step
    sheet.text(left, 26, f"one step of persistent: {us_per_step:.2f} microseconds", INK, 19, "la")
    for us in range(int(us_per_step) + 1):
        x = left + us * scale
        sheet.line([(x, 70), (x, 210)], GRID, 1)
        sheet.text(x, 216, f"{us}", MUTED, 13, "ma")
    sheet.text(right, 234, "microseconds", MUTED, 13, "ra")
    for half, name in enumerate(HALVES):
        y, begin = 80 + 64 * half, 0.0
        sheet.text(left - 12, y + 22, name, INK, 15, "rm")
        for number, (_, phase, mean, _, _) in enumerate(row for row in rows if row[0] == name):
            end = begin + mean
            shade = GRID if phase.startswith(WAITING) else SHADES[number % len(SHADES)]
            from_x, to_x = left + begin * scale, left + end * scale
            sheet.line([(from_x, y + 22), (to_x, y + 22)], shade, 44)
            if to_x - from_x > 16:
                sheet.text((from_x + to_x) / 2, y + 22, str(number + 1), INK, 14, "mm")
            begin = end
    for number, phase in enumerate(PHASES):
        y = 256 + 18 * number
        sheet.text(left, y, f"{number + 1}", INK, 13, "la")
        sheet.text(left + 26, y, f"front: {phase[0]}", MUTED, 13, "la")
        sheet.text(left + 480, y, f"rear: {phase[1]}", MUTED, 13, "la")
    Image.fromarray(sheet.finished()).save(path)


def main():
    options = parser_of(__doc__).parse_args()
    config = Config()
    cycles, plain, read = measured(load_image(LAKE), config)
    rows = phases_of(cycles, read)
    print(f"without clock reads {plain:.3f} us per step, with them {read:.3f}")
    for half, phase, mean, quick, slow in rows:
        print(f"{half:6} {phase:58} {mean:6.3f} us   ({quick:.3f} to {slow:.3f})")
    working = [row for row in rows if not row[1].startswith(WAITING)]
    busy = sum(mean for _, _, mean, _, _ in working) / len(HALVES)
    print(f"of which a half of a block works {busy:.2f} us and waits {read - busy:.2f} us")
    names = ("half", "phase", "us", "us of the quickest tenth", "us of the slowest tenth")
    named = [dict(zip(names, row, strict=True)) for row in rows]
    save(options.save, batch=config.batch, us_per_step=plain, us_with_clock_reads=read, rows=named)
    if options.save:
        plot(rows, read, RESULTS / f"{options.save}.png")


if __name__ == "__main__":
    main()
