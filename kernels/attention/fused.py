"""A step of the network of attention in three launches: draw rows, forward and back, move.

    tokens (B, PLACES), answers (B,), parameters  ->  sums (B, n), losses (B,)
    sums, Adam's state                            ->  parameters

The idea: `network.py` has 72 launches per step, and each reads from global memory what the last one
has written. But a row of 17 places meets no other row. So a block has a row, from its tokens to the
loss and back: a warp has a place, and a lane a channel. What only a place itself needs, such as its
x and the slope along it, is a number in a register; layer norm and softmax are sums over a warp.
Places meet in shared memory: a place looks at the keys and values of others, and on the way back
gives them their slopes; and the gradient of a matrix is a sum over all places.

    forward    per layer: | fetch its matrices, normalise | q k v | look at others, add what is seen
    back       per layer: | fetch | slopes along what was seen, scores | q k v, x | its gradients

Each | is a barrier for the block.

What a layer leaves for the way back waits in global memory, so there may be any number of layers.
Each thread reads there what it has written itself.

A row in shared memory is PITCH = 36 numbers apart from the next. Four neighbours are read by one
instruction; and if each lane reads four of a row of its own, eight lanes meet all 32 banks. What
counts loops is made unsigned where it is an index, so Numba emits no check for negative ones.

As in `kernels/fused/few_samples.py`, each block has a row of `sums`, there are no atomics, and
whoever moves a weight also writes its copy in the turned matrix, which the way back reads.
"""

import math

from numba import cuda, float32, uint32

from kernels.attention import network
from kernels.attention.layer_norm import EPSILON
from kernels.attention.network import WIDTH
from kernels.attention.recall import DIGITS, PLACES, TOKENS
from kernels.config import WARP
from kernels.plumbing.recording import FIRST_STEP
from kernels.reductions.maximum import larger
from kernels.reductions.sums import add, warp_reduce
from kernels.siren.fused import MovedBySums

THREADS = PLACES * WARP  # a warp per place; WIDTH is WARP
PITCH = WIDTH + 4
SQUARE = WIDTH * WIDTH
# Where parts of the parameters begin, as in `network.shapes_of`.
PLACE_ROWS = TOKENS * WIDTH
FIRST_LAYER = PLACE_ROWS + PLACES * WIDTH
LAYER_SIZE = WIDTH + 4 * SQUARE  # a gain, and the matrices in the order of the next line
QUERY, KEY, VALUE, OUTPUT = range(4)
# Rows that each place has in shared memory. The first are the results of three matrices; then
SEEN, WEIGHTS, NORMAL = 3, 4, 5  # what was seen, by which weights; what goes into the matrices
GRAD_SEEN, SLOPES, GRAD_GAIN = 6, 7, 8  # how the loss grows with SEEN, with scores, with the gain
DELTAS, ROWS = 9, 13  # and with the results of all four matrices
KEPT = 7  # numbers per thread and layer: of rows 0 to 4, and what `normalized` returns
INPUTS_PER_WARP = 8  # of a matrix, that a warp fetches, and whose gradients it sums up
MATRIX_WARPS = WIDTH // INPUTS_PER_WARP
BUSY_WARPS = 4 * MATRIX_WARPS  # of 17: one is left for the gain


# ---------------------------------------------------------------- of a warp's own place


@cuda.jit(device=True)
def place_and_lane():
    """Those of this thread; masked, so that the compiler knows that neither is negative."""
    return cuda.threadIdx.x // WARP & (WARP - 1), cuda.threadIdx.x & (WARP - 1)


@cuda.jit(device=True)
def normalized(x):
    """(x without the mean and the deviation of the place's numbers, the scale); see `layer_norm`.

    The numbers are at hand, so the mean can be known before distances from it are summed up.
    """
    distance = x - warp_reduce(x, WARP, add) / float32(WIDTH)
    variance = warp_reduce(distance * distance, WARP, add) / float32(WIDTH)
    scale = float32(1) / math.sqrt(variance + float32(EPSILON))
    return distance * scale, scale


@cuda.jit(device=True)
def norm_backward(grad_out, gain, normal, scale):
    """How the loss grows with x: as `layer_norm.layer_norm_backward`."""
    slope = grad_out * gain
    shift = warp_reduce(slope, WARP, add) / float32(WIDTH)
    stretch = warp_reduce(slope * normal, WARP, add) / float32(WIDTH)
    return scale * (slope - shift - normal * stretch)


@cuda.jit(device=True)
def product(rows, name, matrices, matrix):
    """The lane's channel of the place's row `name` times one of four matrices."""
    place, lane = place_and_lane()
    total = float32(0)
    for i in range(WIDTH):
        weight = matrices[matrix, uint32(i), lane]
        total += rows[name, place, uint32(i)] * weight
    return total


# ---------------------------------------------------------------- places meet


@cuda.jit(device=True)
def with_other(rows, own, others):
    """The place's row `own` times row `others` of the place that is the lane's number.

    Zero for places that this one does not see: those behind it.
    """
    place, lane = place_and_lane()
    total = float32(0)
    if lane <= place:
        for i in range(WIDTH):
            value = rows[own, place, uint32(i)]
            total += value * rows[others, lane, uint32(i)]
    return total


@cuda.jit(device=True)
def sum_of_seen(rows, weights, others):
    """The lane's channel of the sum over all places: its weight, here, times its row `others`."""
    place, lane = place_and_lane()
    total = float32(0)
    for other in range(PLACES):
        weight = rows[weights, place, uint32(other)]
        total += weight * rows[others, uint32(other), lane]
    return total


@cuda.jit(device=True)
def sum_of_seeing(rows, weights, others):
    """The same of those that see this place: the weight that each of them gives it."""
    place, lane = place_and_lane()
    total = float32(0)
    for other in range(PLACES):
        weight = rows[weights, uint32(other), place]
        total += weight * rows[others, uint32(other), lane]
    return total


# ---------------------------------------------------------------- a layer


@cuda.jit(device=True)
def fetch(source, begin, matrices):
    """The block copies four matrices to shared memory, which begin at source[begin]."""
    warp, lane = place_and_lane()
    own = cuda.local.array(INPUTS_PER_WARP, float32)
    if warp < BUSY_WARPS:
        matrix, top = warp // MATRIX_WARPS, warp % MATRIX_WARPS * INPUTS_PER_WARP
        given = source[begin + matrix * SQUARE + top * WIDTH + lane :]
        # All are asked for before the first is waited for.
        for i in range(INPUTS_PER_WARP):
            own[i] = given[i * WIDTH]
        for i in range(INPUTS_PER_WARP):
            matrices[matrix, uint32(top + i), lane] = own[i]


@cuda.jit(device=True)
def look(rows, matrices, x, parameters, begin, kept):
    """Layer norm and attention, whose parameters begin at `begin`: returns the place's new x.

    kept (KEPT, THREADS): what `look_back` will need.
    """
    thread = cuda.threadIdx.x
    place, lane = place_and_lane()
    # All have read the matrices, keys and values of the layer before.
    cuda.syncthreads()
    fetch(parameters, begin + WIDTH, matrices)
    normal, scale = normalized(x)
    rows[NORMAL, place, lane] = normal * parameters[begin + lane]
    # The matrices are there; and every lane reads its place's whole row.
    cuda.syncthreads()
    for matrix in range(3):
        rows[matrix, place, lane] = product(rows, NORMAL, matrices, matrix)
    # A place reads the keys and values of others.
    cuda.syncthreads()
    score = with_other(rows, QUERY, KEY) / math.sqrt(float32(WIDTH))
    if lane > place:
        score = float32(-math.inf)
    exponential = math.exp(score - warp_reduce(score, WARP, larger))
    rows[WEIGHTS, place, lane] = exponential / warp_reduce(exponential, WARP, add)
    # Every lane reads the weights of its place.
    cuda.syncwarp()
    rows[SEEN, place, lane] = sum_of_seen(rows, WEIGHTS, VALUE)
    # And what it has seen.
    cuda.syncwarp()
    for name in range(NORMAL):
        kept[name, thread] = rows[name, place, lane]
    kept[NORMAL, thread], kept[NORMAL + 1, thread] = normal, scale
    return x + product(rows, SEEN, matrices, OUTPUT)


@cuda.jit(device=True)
def look_back(rows, matrices, grad_x, parameters, turned, begin, kept, sums):
    """The way back through `look`: returns how the loss grows with the x that came in.

    grad_x: how it grows with the x that came out. Writes the layer's part of the block's sums.
    """
    thread = cuda.threadIdx.x
    place, lane = place_and_lane()
    # All have read the matrices and rows of the layer before.
    cuda.syncthreads()
    fetch(turned, begin + WIDTH, matrices)
    for name in range(NORMAL):
        rows[name, place, lane] = kept[name, thread]
    normal, scale = kept[NORMAL, thread], kept[NORMAL + 1, thread]
    rows[DELTAS + OUTPUT, place, lane] = grad_x
    # The matrices are there; and every lane reads its place's whole row.
    cuda.syncthreads()
    rows[GRAD_SEEN, place, lane] = product(rows, DELTAS + OUTPUT, matrices, OUTPUT)
    # The same of this row.
    cuda.syncwarp()
    weight, wanted = rows[WEIGHTS, place, lane], with_other(rows, GRAD_SEEN, VALUE)
    slope = weight * (wanted - warp_reduce(weight * wanted, WARP, add))
    rows[SLOPES, place, lane] = slope / math.sqrt(float32(WIDTH))
    # A place reads the slopes of others, and the slopes of what they have seen.
    cuda.syncthreads()
    rows[DELTAS + QUERY, place, lane] = sum_of_seen(rows, SLOPES, KEY)
    rows[DELTAS + KEY, place, lane] = sum_of_seeing(rows, SLOPES, QUERY)
    rows[DELTAS + VALUE, place, lane] = sum_of_seeing(rows, WEIGHTS, GRAD_SEEN)
    # Every lane reads its place's whole rows.
    cuda.syncwarp()
    grad_normal = float32(0)
    for matrix in range(3):
        grad_normal += product(rows, DELTAS + matrix, matrices, matrix)
    gain = parameters[begin + lane]
    rows[NORMAL, place, lane] = normal * gain
    rows[GRAD_GAIN, place, lane] = normal * grad_normal
    # The gradients are sums over all places.
    cuda.syncthreads()
    add_gradients(rows, begin, sums)
    return grad_x + norm_backward(grad_normal, gain, normal, scale)


@cuda.jit(device=True)
def add_gradients(rows, begin, sums):
    """This warp's share of the gradients of a layer, whose parameters begin at `begin`."""
    block = cuda.blockIdx.x
    warp, lane = place_and_lane()
    matrix, top = warp // MATRIX_WARPS, warp % MATRIX_WARPS * INPUTS_PER_WARP
    if warp == BUSY_WARPS:
        total = float32(0)
        for place in range(PLACES):
            total += rows[GRAD_GAIN, place, lane]
        sums[block, begin + lane] = total
        return

    own = sums[block, begin + WIDTH + matrix * SQUARE + top * WIDTH + lane :]
    inputs = SEEN if matrix == OUTPUT else NORMAL
    totals = cuda.local.array(INPUTS_PER_WARP, float32)
    for i in range(INPUTS_PER_WARP):
        totals[i] = float32(0)
    for place in range(PLACES):
        delta = rows[DELTAS + matrix, uint32(place), lane]
        for i in range(INPUTS_PER_WARP):
            totals[i] += rows[inputs, uint32(place), uint32(top + i)] * delta
    for i in range(INPUTS_PER_WARP):
        own[i * WIDTH] = totals[i]


@cuda.jit(device=True)
def answer(rows, x, label, parameters, turned, begin, sums, losses):
    """The last place's digit, by one warp: softmax and cross entropy, and back to its x.

    label: the right digit. begin: of the last gain, which the matrix follows. Returns how the loss
    grows with x; writes the block's loss, and its sums of the gain and the matrix.
    """
    block = cuda.blockIdx.x
    place, lane = place_and_lane()
    first, gain = begin + WIDTH, parameters[begin + lane]
    normal, scale = normalized(x)
    rows[NORMAL, place, lane] = normal * gain
    # Every lane reads its whole row.
    cuda.syncwarp()
    logit = float32(-math.inf)
    if lane < DIGITS:
        logit = float32(0)
        for i in range(WIDTH):
            logit += rows[NORMAL, place, i] * parameters[first + i * DIGITS + lane]
    logit -= warp_reduce(logit, WARP, larger)
    exponential = math.exp(logit)
    total = warp_reduce(exponential, WARP, add)
    delta = exponential / total
    if lane == label:
        delta -= float32(1)
        losses[block] = math.log(total) - logit
    rows[SLOPES, place, lane] = delta
    # Every lane reads the deltas of all digits.
    cuda.syncwarp()
    grad_normal = float32(0)
    for digit in range(DIGITS):
        grad_normal += rows[SLOPES, place, digit] * turned[first + digit * WIDTH + lane]
    if lane < DIGITS:
        for i in range(WIDTH):
            sums[block, first + i * DIGITS + lane] = rows[NORMAL, place, i] * delta
    sums[block, begin + lane] = normal * grad_normal
    return norm_backward(grad_normal, gain, normal, scale)


# ---------------------------------------------------------------- the kernel


# A quarter of a processor has 16,384 registers. One gets five of the 17 warps: 96 per thread.
@cuda.jit(max_registers=96)
def reader_gradients(clock, parameters, turned, tokens, answers, kept, sums, losses):
    """Forward and back for a batch: a block of THREADS threads per row.

    clock (3,) int64: one step is added, of which no thread here needs to know. parameters, turned
    (n,) float32; tokens (B, PLACES), answers (B,) int32. kept (B, layers, KEPT, THREADS) float32:
    room for what waits. Writes sums (B, n), whose total over the blocks is the gradient of the loss
    summed over the batch, and losses (B,), each row's cross entropy: float32.
    """
    rows = cuda.shared.array((ROWS, PLACES, PITCH), float32, alignment=16)
    matrices = cuda.shared.array((4, WIDTH, WIDTH), float32)
    block = cuda.blockIdx.x
    place, lane = place_and_lane()
    layers = kept.shape[1]
    if block == 0 and cuda.threadIdx.x == 0:
        clock[FIRST_STEP] += 1

    x = parameters[tokens[block, place] * WIDTH + lane] + parameters[PLACE_ROWS + cuda.threadIdx.x]
    begin = FIRST_LAYER
    for layer in range(layers):
        x = look(rows, matrices, x, parameters, begin, kept[block, layer])
        begin += LAYER_SIZE

    grad_x = float32(0)
    if place == PLACES - 1:
        grad_x = answer(rows, x, answers[block], parameters, turned, begin, sums, losses)
    for layer in range(layers - 1, -1, -1):
        begin -= LAYER_SIZE
        own = kept[block, layer]
        grad_x = look_back(rows, matrices, grad_x, parameters, turned, begin, own, sums)

    sums[block, PLACE_ROWS + cuda.threadIdx.x] = grad_x
    rows[GRAD_SEEN, place, lane] = grad_x
    # A token's gradient is the sum over its places.
    cuda.syncthreads()
    for token in range(place, TOKENS, PLACES):
        total = float32(0)
        for other in range(PLACES):
            # Read in any case, so that no read waits for what is compared.
            slope = rows[GRAD_SEEN, other, lane]
            total += slope if tokens[block, other] == token else float32(0)
        sums[block, token * WIDTH + lane] = total


class FusedReader(MovedBySums, network.Reader):
    """`network.Reader`, whose steps are three launches; it answers as that does."""

    def __init__(self, seed, batch, device, layers=2, stages=None):
        self.prepare([(1, *shape)[-2:] for shape in network.shapes_of(layers)], batch, device)
        super().__init__(seed, batch, device, layers, stages)
        self.waiting = device.empty((batch, layers, KEPT, THREADS))

    def find_sums(self, launch):
        """Write losses, and sums whose total over the blocks is the gradient."""
        launch(
            reader_gradients, self.batch, THREADS, self.numbers.clock, self.parameters, self.turned,
            self.tokens, self.answers, self.waiting, self.sums, self.losses,
        )  # fmt: skip
