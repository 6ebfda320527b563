"""The whole training in one kernel, with one barrier of the whole GPU per step.

`persistent_two_barriers` waits twice: until all gradients have been added, and until all parameters
have been moved. New here: **whoever reads a parameter moves it.** Then nobody needs to wait for an
owner. After the only barrier a block reads the gradients of the cells around its samples and of all
weights, and computes the new values itself, in registers.

    step i, in every block, between two barriers:

        |  cells, weights   |  features -> outputs -> deltas -> gradients of cells   (producers)
    ----|  moved by what    |--------------------------------------------------------------|----
        |  step i - 1 added |  own cells | gradients of weights, last to first       (consumers)

All the same each cell has one owner, who moves it for good, at leisure: consumers do so while
producers are busy. A reader of step i + 1 starts from the copy that an owner made in step i - 1,
and catches up by two gradients: that of step i - 1 before the barrier, while there is time, and
that of step i after it. So buffers take turns:

                          copies of cells                gradients
        turn i - 2        read by all                    (at rest)
        turn i - 1        written by their owners        complete: read by owners and by all
        turn i            (at rest)                      added to
        turn i + 1        (at rest)                      cleared by their owners

A block may be ahead of another by less than one step, so that its turns are one further: a turn
that one of them reads, none of them writes or clears. Weights are simpler. They are few: every
block keeps all of them in its registers, with Adam's averages, and moves them by the same sums.

`warp_network` says who waits for whom within a block.
"""

from functools import cache

from numba import cuda, float32, int32, uint32, uint64

from kernels.config import COLOURS
from kernels.fast.adam import corrections_at
from kernels.fast.cells import (
    OWN_CELL,
    READ_CELL,
    REGISTERS,
    REPLICAS,
    SAMPLES,
    SHARE,
    THREADS,
    VALUE,
    cell_kind,
    make_move_ahead,
    make_owners,
    move_now,
    one_barrier_size,
)
from kernels.fast.persistent_two_barriers import arrive_at_barrier, wait_at_barrier
from kernels.fast.ptx import pass_barrier, wait_at_named_barrier
from kernels.fast.sample import (
    blend_sides,
    cell_of_lane,
    encode_cells,
    encode_position_by_two,
    load_side,
    scatter_fixed_point,
    scatter_floats,
    texels_of_side,
)
from kernels.fast.sizes import GROUP, TURN_MASK, TURNS, WARP, fast_math
from kernels.fast.warp_network import make_consumers, make_producers, thread_words, transposed_tiles
from kernels.fast.weight_tiles import make_own_tiles, tile_numbers, tile_sums
from kernels.field_math import random_uv

DRAWN = 5  # of the next sample: u, v, red, green, blue; in producers, the squared error
FORWARD_DONE, BACKWARD_DONE = 1, 2  # barriers within a block that producers pass


@cache
def make_forget(copy_floats):
    """Overwrite variables that a half of the block does not use.

    So the compiler does not keep them in registers.
    """

    @cuda.jit(device=True)
    def forget(own, drawn):
        for n in range(OWN_CELL):
            own[n] = float32(0)
        # The first is a producer's own.
        for n in range(1, DRAWN):
            drawn[n] = float32(0)

    @cuda.jit(device=True)
    def forget_cell(cell, gradients, copy):
        cell[SHARE] = float32(0)
        for c in range(COLOURS):
            gradients[c] = float32(0)
        for n in range(copy_floats):
            copy[n] = float32(0)

    return forget, forget_cell


@cuda.jit(device=True)
def texels_of_image(arrays, u, v, side, settings):
    """(`load_side`, `texels_of_side`) of the image."""
    texels = texels_of_side(u, v, side, settings.image_width, settings.image_height)
    return load_side(arrays.image, texels), texels


@cache
def make_load_ahead(kind):
    @cuda.jit(device=True)
    def load_ahead(arrays, i, sample, lane, uv, settings, copy, gradients, cell):
        """Load the thread's cell of the next sample, as it was two steps before.

        Returns the cell's index.
        """
        turn = (i + 1) & 1
        index, cell[SHARE] = cell_of_lane(uv[turn, sample, 0], uv[turn, sample, 1], lane, settings)
        cells = uint32(arrays.feature_grid.shape[0])
        oldest = uint32(((i - 2) & TURN_MASK) * cells)
        before = uint32(((i - 1) & TURN_MASK) * cells)
        kind.load_copy(arrays.cell_copies, uint32(oldest + index), uint32(TURNS * cells), copy)
        gradients[0], gradients[1], gradients[2], _ = kind.sums.read(
            arrays.grad_cells, uint32(before + index)
        )
        return index

    return load_ahead


@cache
def make_train_one_barrier(hidden, layers, deterministic=False, named_barriers=True):
    """(kernel, threads per block) for one size of network that `fits`; compute capability 9.0.

    named_barriers: whether producers pass some barriers within a block without waiting. The
    lab's simulator knows none but `syncthreads`, which is stricter.
    """
    groups, warps, consumers_threads = SAMPLES // GROUP, THREADS // WARP, THREADS // 2
    kind, sums = cell_kind(deterministic), tile_sums(deterministic)
    copy_floats = kind.floats
    move_ahead, load_ahead = make_move_ahead(kind), make_load_ahead(kind)
    weights = make_own_tiles(hidden, layers, warps, REPLICAS, sums)
    weight_floats, gradient_shape = weights.state, weights.gradients
    sum_rows = one_barrier_size(hidden, layers).sum_rows
    replica_rows = sum_rows // REPLICAS
    producers = make_producers(hidden, layers)
    consumers = make_consumers(hidden, layers, groups, sums.add)
    scatter = scatter_fixed_point if deterministic else scatter_floats
    owners = make_owners(kind, sums.clear, sum_rows)
    forget, forget_cell = make_forget(copy_floats)
    tiles_shape = tile_numbers(hidden, layers).tiles, WARP, 2
    transposed_shape = transposed_tiles(hidden, layers), groups, WARP, 2
    words_kept, sums_kept = thread_words(hidden, layers), hidden // 2

    @cuda.jit(device=True)
    def wait_for_producers(producer, barrier):
        """Consumers wait for producers, which go on."""
        if not named_barriers:
            cuda.syncthreads()
        elif producer:
            pass_barrier(barrier, THREADS)
        else:
            wait_at_named_barrier(barrier, THREADS)

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
        shared = rows, forward_words, backward_words, transposed, colours
        # What a thread keeps: of its tiles of weights, of the cell it reads, ...
        tile = cuda.local.array(weight_floats, float32)
        tile_gradients = cuda.local.array(gradient_shape, float32)
        cell = cuda.local.array(READ_CELL, float32)
        copy = cuda.local.array(copy_floats, float32)
        gradients = cuda.local.array(COLOURS, float32)
        # ... producers of the network, consumers of the cell they own, and of the next sample.
        words = cuda.local.array(words_kept, uint32)
        totals = cuda.local.array(sums_kept, float32)
        own = cuda.local.array(OWN_CELL, float32)
        own_gradients = cuda.local.array(COLOURS, float32)
        next_corrections = cuda.local.array(4, float32)
        drawn = cuda.local.array(DRAWN, float32)
        of_network, of_owner = (words, totals), (own, own_gradients, next_corrections)

        thread = cuda.threadIdx.x & (THREADS - 1)
        warp, lane = thread >> 5, thread & 31
        group, producer = warp & (groups - 1), warp < groups
        consumer = thread & (consumers_threads - 1)
        sample, looked_up, side = thread >> 2, consumer >> 1, consumer & 1
        first = cuda.blockIdx.x * SAMPLES
        inside = int32(settings.batch - first)
        # Each block owns as many cells as any other.
        cells = arrays.feature_grid.shape[0]
        share = int32((cells + cuda.gridDim.x - 1) // cuda.gridDim.x)
        owner = uint32(int32(cuda.blockIdx.x) * share + int32(consumer))
        end = uint32(min(int32(cells), (int32(cuda.blockIdx.x) + int32(1)) * share))
        scale = float32(2) / (float32(settings.batch) * float32(COLOURS))
        steps, rates = learning_rates.shape[0], settings.rates
        rate_weights, correction_v, rate_grid = float32(0), float32(1), float32(0)

        weights.read(arrays, warp, lane, tile)
        if producer:
            forget(own, drawn)
            drawn[0] = float32(0)
        else:
            owners.prologue(arrays, owner, end, own)
            u, v = random_uv(uint64(first + looked_up), uint64(first_step), settings.seed)
            values, texels = texels_of_image(arrays, u, v, side, settings)
            colours[looked_up, 0], colours[looked_up, 1], colours[looked_up, 2] = blend_sides(
                values, texels
            )
            colours[looked_up, COLOURS] = float32(0)
            encode_position_by_two(u, v, side, looked_up, settings, rows)
            uv[0, looked_up, 0], uv[0, looked_up, 1] = u, v
            u, v = random_uv(uint64(first + looked_up), uint64(first_step + 1), settings.seed)
            uv[1, looked_up, 0], uv[1, looked_up, 1] = u, v
            drawn[0], drawn[1] = u, v
        arrive_at_barrier(counter)
        wait_at_barrier(counter, 1)
        index = load_ahead(arrays, -1, sample, lane, uv, settings, copy, gradients, cell)
        move_ahead(rate_grid, rate_grid, rates, copy, gradients, cell)
        for i in range(int32(steps)):
            # What the last step has added.
            before = uint32(((i - 1) & TURN_MASK) * cells)
            gradients[0], gradients[1], gradients[2], _ = kind.sums.read(
                arrays.grad_cells, uint32(before + index)
            )
            last = ((i - 1) & TURN_MASK) * sum_rows
            weights.read_gradients(arrays.grad_weights, last, warp, lane, tile_gradients)
            move_now(gradients, cell, rates)
            encode_cells(
                sample, lane, cell[SHARE], cell[VALUE], cell[VALUE + 1], cell[VALUE + 2], rows
            )
            if i > 0:
                weights.move(warp, tile_gradients, tile, rate_weights, correction_v, rates)
            weights.pack(warp, lane, tile, forward_words, backward_words)
            for c in range(COLOURS):
                own_gradients[c] = float32(0)
            for n in range(4):
                next_corrections[n] = float32(0)
            if not producer and owner < end:
                owners.load(arrays, i, owner, of_owner)
            cuda.syncthreads()

            # Forward; meanwhile, for the next steps, own cells and colours.
            if producer:
                forget(own, drawn)
                forget_cell(cell, gradients, copy)
                drawn[0] += producers.forward(
                    shared, of_network, group, lane, inside - GROUP * group
                )
            else:
                # Only producers need them.
                for n in range(words_kept):
                    words[n] = uint32(0)
                for n in range(sums_kept):
                    totals[n] = float32(0)
                values, texels = texels_of_image(arrays, drawn[0], drawn[1], side, settings)
                owners.move(arrays, i, rate_grid, rates, owner, end, of_owner)
                drawn[2], drawn[3], drawn[4] = blend_sides(values, texels)
            wait_for_producers(producer, FORWARD_DONE)

            # Backward; meanwhile the gradients of what was used last.
            row = (i & TURN_MASK) * sum_rows + (cuda.blockIdx.x & (REPLICAS - 1)) * replica_rows
            into = arrays.grad_weights, row, scale
            if not producer and inside > 0:
                consumers.gradient_last(transposed, group, lane, into)
            for back in range(layers - 1):
                layer = layers - 1 - back
                if producer:
                    forget(own, drawn)
                    producers.backward_middle(layer, shared, of_network, group, lane)
                # The next deltas take the place of activations that consumers have read now.
                cuda.syncthreads()
                if not producer and inside > 0:
                    consumers.gradient_middle(layer, transposed, group, lane, into)
            if producer:
                index = load_ahead(arrays, i, sample, lane, uv, settings, copy, gradients, cell)
                forget(own, drawn)
                producers.backward_first(shared, of_network, group, lane)
                # Other lanes of the warp have written what a lane reads.
                cuda.syncwarp()
            wait_for_producers(producer, BACKWARD_DONE)
            if producer:
                scatter(
                    arrays.grad_cells, uint32((i & TURN_MASK) * cells), group, lane, settings, uv,
                    i & 1, colours, scale, inside,
                )  # fmt: skip
            elif inside > 0:
                consumers.gradient_first(transposed, group, lane, into)

            # While others arrive: what is known already of the next step.
            arrive_at_barrier(counter)
            if not producer:
                index = load_ahead(arrays, i, sample, lane, uv, settings, copy, gradients, cell)
            rate_before, rate_grid = learning_rates[max(i - 1, 0), 1], learning_rates[i, 1]
            correction_m, correction_v = corrections_at(arrays.corrections, first_step + i)
            rate_weights = learning_rates[i, 0] * correction_m
            if not producer:
                if side == 0:
                    for c in range(COLOURS):
                        colours[looked_up, c] = drawn[2 + c]
                encode_position_by_two(drawn[0], drawn[1], side, looked_up, settings, rows)
                of_sample, in_step = uint64(first + looked_up), uint64(first_step + i + 2)
                u, v = random_uv(of_sample, in_step, settings.seed)
                if side == 0:
                    uv[i & 1, looked_up, 0], uv[i & 1, looked_up, 1] = u, v
                drawn[0], drawn[1] = u, v
            weights.decay(warp, tile, rates)
            move_ahead(rate_before, rate_grid, rates, copy, gradients, cell)
            wait_at_barrier(counter, i + 2)

        if not producer:
            owners.epilogue(arrays, steps, rate_grid, rates, owner, end, of_owner)
        if cuda.blockIdx.x == 0 and steps > 0:
            last = ((steps - 1) & TURN_MASK) * sum_rows
            weights.read_gradients(arrays.grad_weights, last, warp, lane, tile_gradients)
            weights.move(warp, tile_gradients, tile, rate_weights, correction_v, rates)
            weights.write(arrays, warp, lane, tile)
        if producer:
            arrays.squared_errors[cuda.grid(1)] += drawn[0]

    return train, THREADS
