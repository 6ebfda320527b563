"""ReLU between two products: sums of one layer -> operand of the next, in a lane's own registers.

Nothing moves between lanes: packed to 16 bits, the C fragments of two neighbouring tiles of units
are the A fragment of 16 inputs (see `ptx`). The instruction that packs takes the ReLU along.
"""

from functools import cache

from numba import cuda, uint32

from kernels.fast.products import store_transposed
from kernels.fast.ptx import mask_of_signs, pack_bfloat16, pack_relu_bfloat16, pack_relu_halves
from kernels.fast.sizes import SAMPLE_TILES, WARP

SIGNS = 0x80008000  # of both 16-bit numbers in a word
BELOW_SIGNS = 0x7FFF7FFF


@cache
def make_relu(unit_tiles):
    """ReLU: sums -> operand of the next layer."""

    @cuda.jit(device=True)
    def relu(sums, operand):
        for tile in range(SAMPLE_TILES):
            for unit_tile in range(unit_tiles):
                block, side = unit_tile // 2, 2 * (unit_tile % 2)
                operand[tile, block, side] = pack_relu_halves(
                    sums[tile, unit_tile, 0], sums[tile, unit_tile, 1]
                )
                operand[tile, block, side + 1] = pack_relu_halves(
                    sums[tile, unit_tile, 2], sums[tile, unit_tile, 3]
                )

    return relu


@cuda.jit(device=True)
def signs_where_positive(word):
    """Both numbers of a word are zero or above; set the sign bits of those above zero."""
    return uint32(uint32(word + uint32(BELOW_SIGNS)) & uint32(SIGNS))


@cache
def make_relu_and_store(unit_tiles):
    """The same; and stores what the way back needs: a transposed copy, and the ReLU mask.

    relu_masks: (layers, SAMPLE_TILES, threads) uint32, two bits for each word of the operand: 1
    where a sum was above zero.
    """

    @cuda.jit(device=True)
    def relu_and_store(sums, operand, relu_masks, layer, transposed, first, warp, lane):
        for tile in range(SAMPLE_TILES):
            bits = uint32(0)
            for unit_tile in range(unit_tiles):
                block, side = unit_tile // 2, 2 * (unit_tile % 2)
                c0, c1 = sums[tile, unit_tile, 0], sums[tile, unit_tile, 1]
                c2, c3 = sums[tile, unit_tile, 2], sums[tile, unit_tile, 3]
                upper, lower = pack_relu_halves(c0, c1), pack_relu_halves(c2, c3)
                operand[tile, block, side] = upper
                operand[tile, block, side + 1] = lower
                bits |= signs_where_positive(upper) >> uint32(2 * unit_tile)
                bits |= signs_where_positive(lower) >> uint32(2 * unit_tile + 1)
                store_transposed(
                    transposed, first + unit_tile, SAMPLE_TILES * warp + tile, lane,
                    pack_relu_bfloat16(c0, c1), pack_relu_bfloat16(c2, c3),
                )  # fmt: skip
            relu_masks[layer, tile, WARP * warp + lane] = bits

    return relu_and_store


@cache
def make_apply_relu_mask(unit_tiles):
    """ReLU's derivative: gradient of activations -> delta, as operand and transposed copy."""

    @cuda.jit(device=True)
    def apply_relu_mask(sums, operand, relu_masks, layer, transposed, first, warp, lane):
        for tile in range(SAMPLE_TILES):
            bits = relu_masks[layer, tile, WARP * warp + lane]
            for unit_tile in range(unit_tiles):
                upper = pack_bfloat16(sums[tile, unit_tile, 0], sums[tile, unit_tile, 1])
                lower = pack_bfloat16(sums[tile, unit_tile, 2], sums[tile, unit_tile, 3])
                upper &= mask_of_signs(uint32(bits << uint32(2 * unit_tile)))
                lower &= mask_of_signs(uint32(bits << uint32(2 * unit_tile + 1)))
                block, side = unit_tile // 2, 2 * (unit_tile % 2)
                operand[tile, block, side] = upper
                operand[tile, block, side + 1] = lower
                store_transposed(
                    transposed, first + unit_tile, SAMPLE_TILES * warp + tile, lane, upper, lower
                )

    return apply_relu_mask
