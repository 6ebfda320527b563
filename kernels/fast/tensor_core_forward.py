"""The network on tensor cores, in one kernel of one fixed size: 16 -> 32 -> 32 -> 16.

    features (B, 16), weights (2048,)  ->  outputs (B, 16)

The same network as `kernels.mlp_forward`, and the first step from there to `mlp`.

The idea: a tensor core computes C + A @ B in one instruction, for 16 samples x 16 inputs (A) and
16 inputs x 8 units (B). The 32 lanes of a warp hold the three matrices together, a few elements
each, in registers: their *fragments* (all layouts are in `ptx`). Take two neighbouring tiles of 8
units, and see what lane 4 r + c has of their C, and what it needs of A for the next layer:

    C of tile 0:  row r,      columns 2 c and 2 c + 1      word 0 of A
                  row r + 8,  the same columns             word 1
         tile 1:  row r,      columns 2 c + 8 and 2 c + 9  word 2
                  row r + 8,  the same columns             word 3

They are the same elements. So a lane packs its own sums to 16 bits, two per word, and has its part
of the next operand: between layers there is no shared memory and no barrier. ReLU comes with the
packing, in one instruction. Only weights are shared, packed once per block.

`mlp` does the same for any size, with 32 samples per warp, and goes back as well.
"""

from numba import cuda, float32, uint32

from kernels.config import FEATURES, OUTPUTS
from kernels.fast.ptx import multiply_halves, pack_halves, pack_relu_halves
from kernels.field_math import sigmoid
from kernels.launch import blocks_for, on_gpu

HIDDEN = 32
HIDDEN_TILES, OUTPUT_TILES = HIDDEN // 8, OUTPUTS // 8  # 8 units: the columns of one B
K_BLOCKS = HIDDEN // 16  # 16 inputs: the columns of one A; the features are one block
WARPS = 4  # per block
THREADS = WARPS * 32
SAMPLES = WARPS * 16  # per block: 16 per warp, the rows of one A

# Packed weights: row p holds those of inputs 2 p and 2 p + 1 of one matrix, one word per unit.
FIRST, MIDDLE, LAST = 0, FEATURES // 2, FEATURES // 2 + HIDDEN // 2
PACKED_ROWS = LAST + HIDDEN // 2
# 32 lanes read 4 rows x 8 units at once. If rows were 32 words long, all four would begin in the
# same bank of shared memory; with 40 they begin 8 banks apart, and no two lanes meet in a bank.
PITCH = HIDDEN + 8


@cuda.jit(device=True)
def pack_matrix(weights, offset, fan_in, fan_out, packed, first_row):
    """Copy one float32 matrix into shared memory as halves. Needs a barrier afterwards."""
    for item in range(cuda.threadIdx.x, fan_in // 2 * fan_out, THREADS):
        pair, unit = item // fan_out, item % fan_out
        weight = offset + 2 * pair * fan_out + unit
        packed[first_row + pair, unit] = pack_halves(weights[weight], weights[weight + fan_out])


@cuda.jit(device=True)
def clear(sums):
    for tile in range(HIDDEN_TILES):
        for i in range(4):
            sums[tile, i] = float32(0)


@cuda.jit(device=True)
def add_product(operand, k_block, packed, first_row, tile, sums):
    """sums[tile] += operand[k_block] @ weights, for 16 samples, 16 inputs and 8 units."""
    lane = cuda.threadIdx.x & 31
    # B, as lane 4 r + c must hold it: column (unit) r, rows (inputs) 2 c and 2 c + 1, and those
    # 8 inputs further down, which are 4 packed rows away.
    pair, unit = first_row + 8 * k_block + (lane & 3), 8 * tile + (lane >> 2)
    low, high = packed[pair, unit], packed[pair + 4, unit]
    c0, c1, c2, c3 = multiply_halves(
        operand[k_block, 0], operand[k_block, 1], operand[k_block, 2], operand[k_block, 3],
        low, high, sums[tile, 0], sums[tile, 1], sums[tile, 2], sums[tile, 3],
    )  # fmt: skip
    sums[tile, 0], sums[tile, 1], sums[tile, 2], sums[tile, 3] = c0, c1, c2, c3


@cuda.jit(device=True)
def relu_to_operand(sums, operand):
    """ReLU of the hidden sums: two tiles of 8 units become one block of 16 inputs."""
    for tile in range(HIDDEN_TILES):
        k_block, word = tile // 2, 2 * (tile % 2)
        operand[k_block, word] = pack_relu_halves(sums[tile, 0], sums[tile, 1])
        operand[k_block, word + 1] = pack_relu_halves(sums[tile, 2], sums[tile, 3])


@cuda.jit
def tensor_core_forward(features, weights, outputs):
    """Evaluate the network; 128 threads per block, 64 samples per block, 16 per warp.

    features: (B, 16) float32. weights: (2048,) float32, three row-major matrices, one after
    another. Writes outputs (B, 16) float32, after the sigmoid. Operands are rounded to halves
    (11 significant bits), sums are float32. Needs compute capability 8.0.
    """
    packed = cuda.shared.array((PACKED_ROWS, PITCH), uint32)
    # A and C of this lane. All loops over them are unrolled, so they are registers.
    operand = cuda.local.array((K_BLOCKS, 4), uint32)
    sums = cuda.local.array((HIDDEN_TILES, 4), float32)

    pack_matrix(weights, 0, FEATURES, HIDDEN, packed, FIRST)
    pack_matrix(weights, FEATURES * HIDDEN, HIDDEN, HIDDEN, packed, MIDDLE)
    pack_matrix(weights, (FEATURES + HIDDEN) * HIDDEN, HIDDEN, OUTPUTS, packed, LAST)
    # Every warp reads weights that the other warps have packed. From here on no warp needs another.
    cuda.syncthreads()

    warp, lane = cuda.threadIdx.x >> 5, cuda.threadIdx.x & 31
    row, column = lane >> 2, 2 * (lane & 3)
    first_sample = cuda.blockIdx.x * SAMPLES + 16 * warp + row
    # No lane leaves early: a warp multiplies with all of its lanes. Missing samples are zeros.
    for word in range(4):
        sample, feature = first_sample + 8 * (word % 2), column + 8 * (word // 2)
        inside = sample < features.shape[0]
        x = features[sample, feature] if inside else float32(0)
        y = features[sample, feature + 1] if inside else float32(0)
        operand[0, word] = pack_halves(x, y)

    clear(sums)
    for tile in range(HIDDEN_TILES):
        add_product(operand, 0, packed, FIRST, tile, sums)
    relu_to_operand(sums, operand)

    clear(sums)
    for tile in range(HIDDEN_TILES):
        for k_block in range(K_BLOCKS):
            add_product(operand, k_block, packed, MIDDLE, tile, sums)
    relu_to_operand(sums, operand)

    clear(sums)
    for tile in range(OUTPUT_TILES):
        for k_block in range(K_BLOCKS):
            add_product(operand, k_block, packed, LAST, tile, sums)

    for tile in range(OUTPUT_TILES):
        for i in range(4):
            sample, output = first_sample + 8 * (i // 2), 8 * tile + column + i % 2
            if sample < outputs.shape[0]:
                outputs[sample, output] = sigmoid(sums[tile, i])


def launch_tensor_core_forward(features, weights, outputs, launch=on_gpu):
    blocks = blocks_for(features.shape[0], SAMPLES)
    launch(tensor_core_forward, blocks, THREADS, features, weights, outputs)
