"""`learn.py` again, faster: a warp does everything by itself, and keeps its sums in registers.

    image, grid, weights  ->  grad_grid, grad_weights, loss_sum    all added to, as there

The idea: what bounds `learn` is not arithmetic but reading. Each product reads a weight from global
memory, and each term of a gradient two numbers of shared memory. Here the weights lie in shared
memory, where a warp reads four by one instruction, a broadcast. And a lane owns two rows by four
columns of each matrix's gradient: six numbers, two instructions, for eight terms. Its sums stay in
registers while the warp goes from pixels to pixels; global memory gets them once per block.

A warp takes two rows of a cell at a time, and as many of them, one after another, as any other
warp: what a cell's corners get, it keeps until it comes to the next cell. It exchanges numbers with
nobody else, so its lanes wait for each other only: no barrier stops the block.

Source: register tiles, as in `kernels/products/tiles.py`; a warp by itself, as in
`kernels/fast/persistent_large_batch.py`.
"""

from numba import cuda, float32, uint32

from kernels.config import COLOURS, WARP
from kernels.field_math import corner_weights, relu
from kernels.inline.paint import encode_pixel, place_in_cell
from kernels.inline.sizes import CELL, CHANNELS, LAYERS, ROWS, UNITS
from kernels.launch import blocks_for, on_gpu

SINCE = 9, 0  # compute capability: for older GPUs the assembler spills registers
WARPS = 4
THREADS = WARPS * WARP
MOST_BLOCKS = 396  # three for each processor of a large GPU
PARTS = CELL * CELL // WARP  # of a cell, each of two rows
# Four fours, and a fifth, unused: eight lanes that store fours a row apart meet all 32 banks.
PADDED = UNITS // 4 + 1
DOWN, ACROSS = 2, 4  # a lane's part of a gradient
OWN = DOWN * ACROSS + 1  # sums of a lane and matrix; the last is half of a bias's
DELTAS, SIDES = LAYERS, LAYERS + 1  # of a warp's tile: the inputs of each layer, and deltas


@cuda.jit(device=True)
def store_row(tile, side, values):
    """A lane puts the numbers of its pixel, values (UNITS,), into a side of its warp's tile.

    tile (WARPS, SIDES, WARP, PADDED, 4): in shared memory. Nobody else reads that side of it.
    """
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    for unit in range(UNITS):
        tile[warp, side, lane, unit // 4, unit % 4] = values[unit]


@cuda.jit(device=True)
def forward(tile, weights, layer, units, totals):
    """totals (UNITS,) = the first `units` outputs of a layer, of the lane's pixel in the tile.

    What a lane has in the tile need not stay in registers; and the loop over fours is one, so the
    compiler cannot ask for all weights at once, for which there are not enough.
    """
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    for unit in range(units):
        totals[unit] = weights[layer, UNITS, unit]
    for four in range(UNITS // 4):
        for i in range(4):
            value = tile[warp, layer, lane, four, i]
            for unit in range(units):
                totals[unit] += value * weights[layer, 4 * four + i, unit]
    for unit in range(units):
        totals[unit] = relu(totals[unit])


@cuda.jit(device=True)
def add_weight_sums(tile, layer, sums):
    """Add to the lane's sums (LAYERS, OWN) of a layer what the warp's 32 pixels say.

    Lane 4 r + c has the inputs 2 r and 2 r + 1, and the units 4 c to 4 c + 3. A bias is summed over
    half of the pixels by one lane, and over the others by another.
    """
    # Unsigned: whether an index is negative need not be asked, which takes registers, too.
    lane, warp = cuda.threadIdx.x % WARP, uint32(cuda.threadIdx.x // WARP)
    side, four, first = uint32(layer), uint32(lane // 8), lane // 4 % 2 * DOWN
    deltas, column = uint32(DELTAS), uint32(lane % 4)
    for pixel in range(WARP):
        for j in range(ACROSS):
            delta = tile[warp, deltas, uint32(pixel), column, uint32(j)]
            for i in range(DOWN):
                value = tile[warp, side, uint32(pixel), four, uint32(first + i)]
                sums[layer, i * ACROSS + j] += value * delta
    add_bias_sums(tile, layer, sums)


@cuda.jit(device=True)
def add_last_sums(tile, sums):
    """`add_weight_sums` of the last layer, whose units are all in one four.

    Lane 16 h + r has the input r, in half of the pixels.
    """
    lane, warp = cuda.threadIdx.x % WARP, uint32(cuda.threadIdx.x // WARP)
    side, four, i = uint32(LAYERS - 1), uint32(lane % UNITS // 4), uint32(lane % 4)
    for turn in range(UNITS):
        pixel = pixel_of_half(turn)
        value = tile[warp, side, pixel, four, i]
        for j in range(ACROSS):
            sums[LAYERS - 1, j] += value * tile[warp, uint32(DELTAS), pixel, 0, uint32(j)]
    add_bias_sums(tile, LAYERS - 1, sums)


@cuda.jit(device=True)
def pixel_of_half(turn):
    """The pixel that a lane's half of the warp looks at in the given turn, of UNITS turns.

    The halves are always four pixels apart, which is 16 banks: together they meet all 32.
    """
    return uint32(turn // 4 * 8 + cuda.threadIdx.x % WARP // UNITS * 4 + turn % 4)


@cuda.jit(device=True)
def add_bias_sums(tile, layer, sums):
    lane, warp = cuda.threadIdx.x % WARP, uint32(cuda.threadIdx.x // WARP)
    deltas, column = uint32(DELTAS), uint32(lane % 4)
    for turn in range(UNITS):
        pixel = pixel_of_half(turn)
        sums[layer, OWN - 1] += tile[warp, deltas, pixel, uint32(lane % UNITS // 4), column]


@cuda.jit(device=True)
def back(tile, weights, layer, units, deltas, sums):
    """Take the warp's pixels back through a layer, and add the gradients of its weights.

    tile: its last side has the deltas of the layer's first `units` units, and zeros; they become
    those of the layer below, or the gradients of the features. weights: in shared memory, too.
    deltas (UNITS,), of the lane's own: free to use.
    """
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    # All pixels of the warp must be there before its lanes sum over them.
    cuda.syncwarp()
    if layer < LAYERS - 1:
        add_weight_sums(tile, layer, sums)
    else:
        add_last_sums(tile, sums)
    for unit in range(units):
        deltas[unit] = tile[warp, DELTAS, lane, unit // 4, unit % 4]
    # And all lanes must have summed before other deltas take the place of these.
    cuda.syncwarp()
    for four in range(UNITS // 4):
        for i in range(4):
            total = float32(0)
            for unit in range(units):
                total += weights[layer, 4 * four + i, unit] * deltas[unit]
            # A unit that its ReLU has stopped passes nothing; the features have none.
            if layer > 0 and tile[warp, layer, lane, four, i] <= float32(0):
                total = float32(0)
            tile[warp, DELTAS, lane, four, i] = total


@cuda.jit(device=True)
def add_corner_sums(tile, corner_sums):
    """Lane 8 c + n: what the warp's pixels send to corner c, of channels 2 n and 2 n + 1."""
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    corner, four, first = lane // 8, lane % 8 // 2, lane % 2 * DOWN
    for pixel in range(WARP):
        for i in range(DOWN):
            value = tile[warp, DELTAS, pixel, four, first + i]
            corner_sums[i] += tile[warp, 0, pixel, 0, corner] * value


@cuda.jit(device=True)
def send_to_corners(corner_sums, cell_row, cell_column, grad_grid):
    """Add a lane's `corner_sums` to the gradients of the grid, and begin anew."""
    lane = cuda.threadIdx.x % WARP
    corner = lane // 8
    for i in range(DOWN):
        channel = lane % 8 * DOWN + i
        if channel < CHANNELS:
            place = cell_row + corner // 2, cell_column + corner % 2, channel
            cuda.atomic.add(grad_grid, place, corner_sums[i])
        corner_sums[i] = float32(0)


@cuda.jit(device=True)
def add_block_sums(sums, tile, grad_weights):
    """Add up the sums of the block's warps, and add them to grad_weights (3, 17, 16).

    sums (LAYERS, OWN): a lane's, as in `add_weight_sums`. tile: its warp does not need it any more.
    """
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    for layer in range(LAYERS):
        for i in range(OWN):
            tile[warp, layer, lane, i // 4, i % 4] = sums[layer, i]
    # The sums of all warps must be there before they are added up.
    cuda.syncthreads()
    for place in range(warp, LAYERS * OWN, WARPS):
        layer, i = place // OWN, place % OWN
        total = float32(0)
        for other in range(WARPS):
            total += tile[other, layer, lane, i // 4, i % 4]
        row, unit = lane // 4 * DOWN + i // ACROSS, lane % 4 * ACROSS + i % ACROSS
        if layer == LAYERS - 1:
            row, unit = lane % UNITS, i
        if i == OWN - 1:
            row, unit = UNITS, lane % UNITS
        # The last layer has no more units than there are colours.
        if layer < LAYERS - 1 or unit < COLOURS:
            cuda.atomic.add(grad_weights, (layer, row, unit), total)


@cuda.jit
def learn_by_warps(image, grid, weights, grad_grid, grad_weights, loss_sum):
    """The same as `learn.learn`; blocks of THREADS threads, any number of them."""
    matrices = cuda.shared.array((LAYERS, ROWS, UNITS), float32, alignment=16)
    tile = cuda.shared.array((WARPS, SIDES, WARP, PADDED, 4), float32, alignment=16)
    features = cuda.local.array((1, UNITS), float32)
    values = cuda.local.array(UNITS, float32)
    sums = cuda.local.array((LAYERS, OWN), float32)
    corner_sums = cuda.local.array(DOWN, float32)
    thread, lane, warp = cuda.threadIdx.x, cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    height, width, _ = image.shape
    rows, columns = grid.shape[0] - 1, grid.shape[1] - 1
    scale = float32(1) / (float32(height) * float32(width) * float32(COLOURS))
    loss = float32(0)

    for i in range(thread, LAYERS * ROWS * UNITS, THREADS):
        matrix, row, unit = i // (ROWS * UNITS), i // UNITS % ROWS, i % UNITS
        matrices[matrix, row, unit] = weights[matrix, row, unit]
    for layer in range(LAYERS):
        for i in range(OWN):
            sums[layer, i] = float32(0)
    # Every warp reads what all have copied.
    cuda.syncthreads()

    for i in range(DOWN):
        corner_sums[i] = float32(0)
    warps, parts = cuda.gridDim.x * WARPS, rows * columns * PARTS
    this, fewest, rest = cuda.blockIdx.x * WARPS + warp, parts // warps, parts % warps
    first = this * fewest + min(this, rest)
    last = first + fewest + (1 if this < rest else 0)
    for part in range(first, last):
        cell = part // PARTS
        cell_row, cell_column = cell // columns, cell % columns
        x = cell_column * CELL + lane % CELL
        y = cell_row * CELL + part % PARTS * (WARP // CELL) + lane // CELL
        encode_pixel(grid, x, y, features)
        for unit in range(UNITS):
            values[unit] = features[0, unit]
        for layer in range(LAYERS - 1):
            store_row(tile, layer, values)
            forward(tile, matrices, layer, UNITS, values)
        store_row(tile, LAYERS - 1, values)
        forward(tile, matrices, LAYERS - 1, COLOURS, values)
        inside = x < width and y < height
        for unit in range(UNITS):
            delta = float32(0)
            if unit < COLOURS:
                error = values[unit] - image[y, x, unit] if inside else float32(0)
                loss += error * error
                delta = float32(2) * scale * error if values[unit] > float32(0) else float32(0)
            values[unit] = delta
        store_row(tile, DELTAS, values)
        back(tile, matrices, 2, COLOURS, values, sums)
        back(tile, matrices, 1, UNITS, values, sums)
        back(tile, matrices, 0, UNITS, values, sums)

        w0, w1, w2, w3 = corner_weights(place_in_cell(x), place_in_cell(y))
        tile[warp, 0, lane, 0, 0], tile[warp, 0, lane, 0, 1] = w0, w1
        tile[warp, 0, lane, 0, 2], tile[warp, 0, lane, 0, 3] = w2, w3
        # As in `back`, on both sides of the sums.
        cuda.syncwarp()
        add_corner_sums(tile, corner_sums)
        cuda.syncwarp()

        if part % PARTS == PARTS - 1 or part == last - 1:
            send_to_corners(corner_sums, cell_row, cell_column, grad_grid)

    add_block_sums(sums, tile, grad_weights)
    for distance in (16, 8, 4, 2, 1):
        loss += cuda.shfl_down_sync(0xFFFFFFFF, loss, distance)
    if lane == 0:
        cuda.atomic.add(loss_sum, 0, scale * loss)


def fits():
    """Whether this GPU is one that the kernel is for."""
    return cuda.get_current_device().compute_capability >= SINCE


def launch_learn_by_warps(image, grid, weights, grad_grid, grad_weights, loss_sum, launch=on_gpu):
    parts = (grid.shape[0] - 1) * (grid.shape[1] - 1) * PARTS
    blocks = min(MOST_BLOCKS, blocks_for(parts, WARPS))
    launch(learn_by_warps, blocks, THREADS, image, grid, weights, grad_grid, grad_weights, loss_sum)
