"""The whole training in one kernel, with one barrier of the grid per step.

`persistent`, the rung before this one, waits twice: until all gradients have been added, and until
all parameters have been moved. The idea here: **whoever reads a parameter moves it.** Then nobody
needs to wait for an owner. After the only barrier a block reads the gradients of the cells around
its samples and of all weights, and computes the new values itself, in registers.

    step i, in every block, between two barriers:

        |  cells, weights   |  features -> outputs -> deltas -> gradients of cells   (front)
    ----|  moved by what    |--------------------------------------------------------------|----
        |  step i - 1 added |  own cells | gradients of weights, last to first       (rear)

All the same each cell has one owner, who moves it for good, at leisure: the rear does so while the
front is busy. A reader of step i + 1 starts from the copy that an owner made in step i - 1, and
catches up by two gradients: that of step i - 1 before the barrier, while there is time, and that
of step i after it. So buffers take turns:

                          copies of cells                gradients
        turn i - 2        read by all                    (at rest)
        turn i - 1        written by their owners        complete: read by owners and by all
        turn i            (at rest)                      added to
        turn i + 1        (at rest)                      cleared by their owners

A block may be ahead of another by less than one step, so that its turns are one further: a turn
that one of them reads, none of them writes or clears. Weights are simpler. They are few: every
block keeps all of them in its registers, with Adam's averages, and moves them by the same sums.

Who waits for whom within a block: see `warp_network` for front and rear.
"""

from functools import cache

from numba import cuda, float32, int32, uint32, uint64

from kernels.config import COLOURS
from kernels.fast.adam import corrections_at
from kernels.fast.arrays import TURN_MASK, TURNS
from kernels.fast.block_samples import (
    both_sides,
    corner,
    encode_cells,
    encode_position,
    scatter_floats,
    scatter_whole_numbers,
    texels,
    write_padding,
)
from kernels.fast.cells import OWN_CELL, READ_CELL, SHARE, cell_kind, make_move_ahead, move_now
from kernels.fast.fast_math import fast_math
from kernels.fast.owners import (
    REGISTERS,
    REPLICAS,
    SAMPLES,
    THREADS,
    make_owners,
    one_barrier_size,
)
from kernels.fast.persistent import arrive_at_barrier, wait_at_barrier
from kernels.fast.ptx_memory import pass_barrier, wait_at_named_barrier
from kernels.fast.sizes import WARP
from kernels.fast.warp_network import GROUP, make_warp_network, thread_words, transposed_tiles
from kernels.fast.weight_tiles import make_own_tiles, tile_numbers, tile_sums
from kernels.field_math import random_uv

DRAWN = 5  # of the next sample: u, v, red, green, blue; in the front, the squared error
FORWARD_DONE, BACKWARD_DONE = 1, 2  # barriers within a block that the front passes


@cache
def make_forget(asked):
    """For the front: what it sets, it need not keep for the rear."""

    @cuda.jit(device=True)
    def forget(own, drawn):
        for n in range(OWN_CELL):
            own[n] = float32(0)
        # The first is the front's own.
        for n in range(1, DRAWN):
            drawn[n] = float32(0)

    @cuda.jit(device=True)
    def forget_cell(cell, gradients, numbers):
        cell[SHARE] = float32(0)
        for c in range(COLOURS):
            gradients[c] = float32(0)
        for n in range(asked):
            numbers[n] = float32(0)

    return forget, forget_cell


@cache
def make_train_one_barrier(hidden, layers, deterministic=False, named_barriers=True):
    """(kernel, threads per block) for one size of network that `fits`; compute capability 9.0.

    named_barriers: whether the front passes some barriers within a block without waiting. The
    lab's simulator knows none but `syncthreads`, which is stricter.
    """
    groups, warps, rear_threads = SAMPLES // GROUP, THREADS // WARP, THREADS // 2
    kind, sums = cell_kind(deterministic), tile_sums(deterministic)
    asked_floats, ask_copy, read_gradient = kind.asked, kind.ask_copy, kind.read_gradient
    move_ahead = make_move_ahead(kind)
    weights = make_own_tiles(hidden, layers, warps, REPLICAS, sums)
    read_weights, write_weights, pack_weights = weights.read, weights.write, weights.pack
    read_sums, move_weights, decay_weights = weights.read_gradients, weights.move, weights.decay
    weight_floats, gradient_shape = weights.state, weights.gradients
    sum_rows = one_barrier_size(hidden, layers).sum_rows
    replica_rows = sum_rows // REPLICAS
    network = make_warp_network(hidden, layers, groups, sums.add)
    forward, backward_middle = network.forward, network.backward_middle
    backward_first, gradient_last = network.backward_first, network.gradient_last
    gradient_middle, gradient_first = network.gradient_middle, network.gradient_first
    scatter = scatter_whole_numbers if deterministic else scatter_floats
    prologue, ask_own, own_cells, epilogue = make_owners(kind, sums.clear, sum_rows)
    forget, forget_cell = make_forget(asked_floats)
    tiles_shape = tile_numbers(hidden, layers).tiles, WARP, 2
    transposed_shape = transposed_tiles(hidden, layers), groups, WARP, 2
    words_kept, sums_kept = thread_words(hidden, layers), hidden // 2

    @cuda.jit(device=True)
    def meet_half_way(front, barrier):
        """The rear waits for the front, which goes on."""
        if not named_barriers:
            cuda.syncthreads()
        elif front:
            pass_barrier(barrier, THREADS)
        else:
            wait_at_named_barrier(barrier, THREADS)

    @cuda.jit(device=True)
    def ask_ahead(arrays, i, sample, lane, uv, settings, asked, gradients, cell):
        """Ask for the thread's cell of the next sample, as it was two steps before.

        Returns the cell's index.
        """
        index, cell[SHARE] = corner(uv, (i + 1) & 1, sample, lane, settings)
        cells = uint32(arrays.feature_grid.shape[0])
        copy = uint32(((i - 2) & TURN_MASK) * cells)
        before = uint32(((i - 1) & TURN_MASK) * cells)
        ask_copy(arrays.cell_copies, uint32(copy + index), uint32(TURNS * cells), asked)
        gradients[0], gradients[1], gradients[2], _ = read_gradient(
            arrays.grad_cells, uint32(before + index)
        )
        return index

    @fast_math(REGISTERS)
    def train(arrays, learning_rates, first_step, settings, counter):
        """Take one step per row of learning_rates (n, 2) float32: the network's, the grid's.

        arrays: `OneBarrierArrays`. first_step: int64 from 1. settings: `StepSettings`. counter:
        (1,) uint32, zero.
        """
        forward_words = cuda.shared.array(tiles_shape, uint32, alignment=8)
        backward_words = cuda.shared.array(tiles_shape, uint32, alignment=8)
        transposed = cuda.shared.array(transposed_shape, uint32, alignment=8)
        rows = cuda.shared.array((groups, WARP, 4), uint32, alignment=16)
        colours = cuda.shared.array((SAMPLES, 4), float32, alignment=16)
        uv = cuda.shared.array((2, SAMPLES, 2), float32, alignment=8)
        # What a thread keeps: of its tiles of weights, of the cell it reads, ...
        tile = cuda.local.array(weight_floats, float32)
        tile_gradients = cuda.local.array(gradient_shape, float32)
        cell = cuda.local.array(READ_CELL, float32)
        asked = cuda.local.array(asked_floats, float32)
        gradients = cuda.local.array(COLOURS, float32)
        # ... in the front of the network, in the rear of the cell it owns, and of the next sample.
        words = cuda.local.array(words_kept, uint32)
        totals = cuda.local.array(sums_kept, float32)
        own = cuda.local.array(OWN_CELL, float32)
        own_gradients = cuda.local.array(COLOURS, float32)
        next_corrections = cuda.local.array(4, float32)
        drawn = cuda.local.array(DRAWN, float32)

        thread = cuda.threadIdx.x & (THREADS - 1)
        warp, lane = thread >> 5, thread & 31
        group, front = warp & (groups - 1), warp < groups
        in_rear = thread & (rear_threads - 1)
        sample, looked_up, side = thread >> 2, in_rear >> 1, in_rear & 1
        first = cuda.blockIdx.x * SAMPLES
        inside = int32(settings.batch - first)
        # Each block owns as many cells as any other.
        cells = arrays.feature_grid.shape[0]
        share = int32((cells + cuda.gridDim.x - 1) // cuda.gridDim.x)
        owner = uint32(int32(cuda.blockIdx.x) * share + int32(in_rear))
        end = uint32(min(int32(cells), (int32(cuda.blockIdx.x) + int32(1)) * share))
        scale = float32(2) / (float32(settings.batch) * float32(COLOURS))
        steps, rates = learning_rates.shape[0], settings.rates
        rate_weights, correction_v, rate_grid = float32(0), float32(1), float32(0)

        read_weights(arrays, warp, lane, tile)
        if front:
            forget(own, drawn)
            drawn[0] = float32(0)
        else:
            prologue(arrays, owner, end, own)
            u, v = random_uv(uint64(first + looked_up), uint64(first_step), settings.seed)
            upper, lower, upper_share, lower_share = texels(arrays.image, u, v, side, settings)
            colours[looked_up, 0], colours[looked_up, 1], colours[looked_up, 2] = both_sides(
                upper, lower, upper_share, lower_share
            )
            colours[looked_up, COLOURS] = float32(0)
            encode_position(u, v, side, looked_up, settings, rows)
            write_padding(rows, looked_up)
            uv[0, looked_up, 0], uv[0, looked_up, 1] = u, v
            u, v = random_uv(uint64(first + looked_up), uint64(first_step + 1), settings.seed)
            uv[1, looked_up, 0], uv[1, looked_up, 1] = u, v
            drawn[0], drawn[1] = u, v
        arrive_at_barrier(counter)
        wait_at_barrier(counter, 1)
        index = ask_ahead(arrays, -1, sample, lane, uv, settings, asked, gradients, cell)
        move_ahead(rate_grid, rate_grid, rates, asked, gradients, cell)
        for i in range(int32(steps)):
            # What the last step has added.
            before = uint32(((i - 1) & TURN_MASK) * cells)
            gradients[0], gradients[1], gradients[2], _ = read_gradient(
                arrays.grad_cells, uint32(before + index)
            )
            last = ((i - 1) & TURN_MASK) * sum_rows
            read_sums(arrays.grad_weights, last, warp, lane, tile_gradients)
            move_now(gradients, cell, rates)
            encode_cells(sample, lane, cell, rows)
            if i > 0:
                move_weights(warp, tile_gradients, tile, rate_weights, correction_v, rates)
            pack_weights(warp, lane, tile, forward_words, backward_words)
            for c in range(COLOURS):
                own_gradients[c] = float32(0)
            for n in range(4):
                next_corrections[n] = float32(0)
            if not front and owner < end:
                ask_own(arrays, i, owner, own, own_gradients, next_corrections)
            cuda.syncthreads()

            # Forward; meanwhile, for the next steps, own cells and colours.
            if front:
                forget(own, drawn)
                forget_cell(cell, gradients, asked)
                drawn[0] += forward(
                    rows, forward_words, backward_words, colours, transposed, words, totals, group,
                    lane, inside - GROUP * group,
                )  # fmt: skip
            else:
                # Only the front needs them.
                for n in range(words_kept):
                    words[n] = uint32(0)
                upper, lower, upper_share, lower_share = texels(
                    arrays.image, drawn[0], drawn[1], side, settings
                )
                own_cells(
                    arrays, i, rate_grid, rates, owner, end, own, own_gradients, next_corrections
                )
                drawn[2], drawn[3], drawn[4] = both_sides(upper, lower, upper_share, lower_share)
            meet_half_way(front, FORWARD_DONE)

            # Backward; meanwhile the gradients of what was used last.
            row = (i & TURN_MASK) * sum_rows + (cuda.blockIdx.x & (REPLICAS - 1)) * replica_rows
            if not front and inside > 0:
                gradient_last(transposed, group, lane, scale, arrays.grad_weights, row)
            for back in range(layers - 1):
                layer = layers - 1 - back
                if front:
                    forget(own, drawn)
                    backward_middle(layer, backward_words, transposed, words, totals, group, lane)
                # The next deltas take the place of activations that the rear has read now.
                cuda.syncthreads()
                if not front and inside > 0:
                    gradient_middle(layer, transposed, group, lane, scale, arrays.grad_weights, row)
            if front:
                index = ask_ahead(arrays, i, sample, lane, uv, settings, asked, gradients, cell)
                forget(own, drawn)
                backward_first(backward_words, transposed, colours, words, totals, group, lane)
                # Other lanes of the warp have written what a lane reads.
                cuda.syncwarp()
            meet_half_way(front, BACKWARD_DONE)
            if front:
                scatter(
                    arrays.grad_cells, uint32((i & TURN_MASK) * cells), group, lane, settings, uv,
                    i & 1, colours, scale, inside,
                )  # fmt: skip
            elif inside > 0:
                gradient_first(transposed, group, lane, scale, arrays.grad_weights, row)

            # While others arrive: what is known already of the next step.
            arrive_at_barrier(counter)
            if not front:
                index = ask_ahead(arrays, i, sample, lane, uv, settings, asked, gradients, cell)
            rate_before, rate_grid = learning_rates[max(i - 1, 0), 1], learning_rates[i, 1]
            correction_m, correction_v = corrections_at(arrays.corrections, first_step + i)
            rate_weights = learning_rates[i, 0] * correction_m
            if not front:
                if side == 0:
                    for c in range(COLOURS):
                        colours[looked_up, c] = drawn[2 + c]
                encode_position(drawn[0], drawn[1], side, looked_up, settings, rows)
                u, v = random_uv(
                    uint64(first + looked_up), uint64(first_step + i + 2), settings.seed
                )
                if side == 0:
                    uv[i & 1, looked_up, 0], uv[i & 1, looked_up, 1] = u, v
                drawn[0], drawn[1] = u, v
            decay_weights(warp, tile, rates)
            move_ahead(rate_before, rate_grid, rates, asked, gradients, cell)
            wait_at_barrier(counter, i + 2)

        if not front:
            epilogue(
                arrays, steps, rate_grid, rates, owner, end, own, own_gradients, next_corrections
            )
        if cuda.blockIdx.x == 0 and steps > 0:
            last = ((steps - 1) & TURN_MASK) * sum_rows
            read_sums(arrays.grad_weights, last, warp, lane, tile_gradients)
            move_weights(warp, tile_gradients, tile, rate_weights, correction_v, rates)
            write_weights(arrays, warp, lane, tile)
        if front:
            arrays.squared_errors[cuda.grid(1)] += drawn[0]

    return train, THREADS
