"""Raw GPU instructions, each beside a twin in plain NumPy that computes the same.

Python has no words for some things that a GPU can do: multiply small matrices on tensor cores,
keep two 16-bit floats in one register, move four floats at a time. Here each such instruction is
a function that kernels call like any other. Compiled, it is one line of PTX, NVIDIA's assembly
language. In the lab's checked simulator its `twin` runs instead, on arrays of shape (warps, 32),
a row a warp and a column a lane; so a twin sees all lanes of a warp, as a tensor core does.

16-bit floats travel in pairs: a uint32 *word* holds two, the first in its lower half. There are
two kinds. A *half* (IEEE float16) has 11 bits for digits and 5 for the exponent: the finer one, for
activations and weights. A *bfloat* (bfloat16) has 8 and 8: coarser, but with the exponents of a
float32, so that no gradient is too small for it.

Source: NVIDIA, "Parallel Thread Execution ISA", sections on mma, movmatrix, cvt and red.
"""

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import signature
from numba.cuda.extending import intrinsic

FLOAT, WORD = ir.FloatType(), ir.IntType(32)
LANE = np.arange(32)


def with_twin(twin):
    """Decorate the typing of an instruction: makes the function that kernels call."""

    def decorate(typing):
        function = intrinsic(typing)
        function.twin = twin
        return function

    return decorate


def emit(builder, text, constraints, results, arguments, side_effect=False):
    """One inline instruction. Returns its result, a struct of several, or nothing."""
    kind = ir.VoidType()
    if results:
        kind = results[0] if len(results) == 1 else ir.LiteralStructType(results)
    function = ir.FunctionType(kind, [argument.type for argument in arguments])
    return builder.call(ir.InlineAsm(function, text, constraints, side_effect), arguments)


def as_tuple(context, builder, kind, struct):
    values = [builder.extract_value(struct, i) for i in range(len(kind))]
    return context.make_tuple(builder, kind, values)


# ---------------------------------------------------------------- pairs of 16-bit floats


def words_of(low, high):
    """Arrays of 16-bit patterns, pairwise in uint32 words."""
    return low.astype(np.uint32) | (high.astype(np.uint32) << np.uint32(16))


def half_bits(values):
    with np.errstate(over="ignore"):
        return values.astype(np.float16).view(np.uint16)


def bfloat_bits(values):
    """The upper half of a float32, rounded to nearest, ties to even."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return np.where(np.isnan(values), np.uint32(0x7FFF), rounded >> np.uint32(16)).astype(np.uint16)


def halves_of(words):
    """(low, high) as float32 of words that hold two halves."""
    words = np.ascontiguousarray(words, np.uint32)
    low = (words & np.uint32(0xFFFF)).astype(np.uint16).view(np.float16)
    high = (words >> np.uint32(16)).astype(np.uint16).view(np.float16)
    return low.astype(np.float32), high.astype(np.float32)


def bfloats_of(words):
    """(low, high) as float32 of words that hold two bfloats."""
    words = np.ascontiguousarray(words, np.uint32)
    low, high = words << np.uint32(16), words & np.uint32(0xFFFF0000)
    return low.view(np.float32), high.view(np.float32)


def packing(text):
    """Typing of an instruction (float32, float32) -> word. PTX names the upper half first."""

    def typing(context, low, high):
        def generate(context, builder, signature_, arguments):
            return emit(builder, text, "=r,f,f", [WORD], [arguments[1], arguments[0]])

        return signature(types.uint32, types.float32, types.float32), generate

    return typing


def packing_twin(bits):
    return lambda low, high: words_of(bits(low), bits(high))


pack_halves = with_twin(packing_twin(half_bits))(packing("cvt.rn.f16x2.f32 $0, $1, $2;"))
pack_bfloats = with_twin(packing_twin(bfloat_bits))(packing("cvt.rn.bf16x2.f32 $0, $1, $2;"))


@with_twin(halves_of)
def unpack_halves(context, word):
    """word -> (low, high) float32, exact."""
    kind = types.UniTuple(types.float32, 2)
    text = "{.reg .b16 l, h; mov.b32 {l, h}, $2; cvt.f32.f16 $0, l; cvt.f32.f16 $1, h;}"

    def generate(context, builder, signature_, arguments):
        struct = emit(builder, text, "=f,=f,r", [FLOAT] * 2, arguments)
        return as_tuple(context, builder, kind, struct)

    return signature(kind, types.uint32), generate


# ---------------------------------------------------------------- tensor cores

# A warp holds a matrix in pieces: each lane has some elements in registers of its own, its
# *fragment*. Lane 4 r + c ("row" r of 8, "column" c of 4) holds of
#
#   A (16 x 16), 4 words:  rows r and r + 8 (words 0 and 1), columns 2 c and 2 c + 1;
#                          the same rows, 8 columns further right (words 2 and 3)
#   B (16 x 8), 2 words:   column r; rows 2 c and 2 c + 1 (word 0), 8 rows further down (word 1)
#   C (16 x 8), 4 floats:  row r, columns 2 c and 2 c + 1 (0, 1); row r + 8 (2, 3)
#
# C packed to words is half an A: the result of one product is the left factor of the next.


def a_matrix(unpack, a0, a1, a2, a3):
    """(warps, 16, 16) float64 that the A fragments of 32 lanes make up."""
    matrix = np.empty((len(a0), 16, 16))
    row, column = np.divmod(LANE, 4)
    for word, (down, right) in zip((a0, a1, a2, a3), ((0, 0), (8, 0), (0, 8), (8, 8))):
        low, high = unpack(word)
        matrix[:, row + down, 2 * column + right] = low
        matrix[:, row + down, 2 * column + right + 1] = high
    return matrix


def b_matrix(unpack, b0, b1):
    """(warps, 16, 8) float64 that the B fragments of 32 lanes make up."""
    matrix = np.empty((len(b0), 16, 8))
    column, row = np.divmod(LANE, 4)
    for word, down in ((b0, 0), (b1, 8)):
        low, high = unpack(word)
        matrix[:, 2 * row + down, column] = low
        matrix[:, 2 * row + down + 1, column] = high
    return matrix


def multiply_twin(unpack):
    def twin(a0, a1, a2, a3, b0, b1, c0, c1, c2, c3):
        product = a_matrix(unpack, a0, a1, a2, a3) @ b_matrix(unpack, b0, b1)
        row, column = np.divmod(LANE, 4)
        return tuple(
            (product[:, row + down, 2 * column + right] + c).astype(np.float32)
            for c, (down, right) in zip((c0, c1, c2, c3), ((0, 0), (0, 1), (8, 0), (8, 1)))
        )

    return twin


def multiplying(kind):
    """Typing of (four words of A, two of B, four floats of C) -> C + A @ B."""
    text = (
        f"mma.sync.aligned.m16n8k16.row.col.f32.{kind}.{kind}.f32 "
        "{$0,$1,$2,$3}, {$4,$5,$6,$7}, {$8,$9}, {$10,$11,$12,$13};"
    )
    result = types.UniTuple(types.float32, 4)

    def typing(context, a0, a1, a2, a3, b0, b1, c0, c1, c2, c3):
        def generate(context, builder, signature_, arguments):
            constraints = "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f"
            struct = emit(builder, text, constraints, [FLOAT] * 4, arguments, True)
            return as_tuple(context, builder, result, struct)

        return signature(result, *[types.uint32] * 6, *[types.float32] * 4), generate

    return typing


multiply_halves = with_twin(multiply_twin(halves_of))(multiplying("f16"))
multiply_bfloats = with_twin(multiply_twin(bfloats_of))(multiplying("bf16"))


def transpose_twin(words):
    words = np.ascontiguousarray(words, np.uint32)
    matrix = np.stack([words & np.uint32(0xFFFF), words >> np.uint32(16)], axis=-1)
    turned = matrix.reshape(-1, 8, 8).transpose(0, 2, 1).reshape(-1, 32, 2)
    return words_of(turned[:, :, 0], turned[:, :, 1])


@with_twin(transpose_twin)
def transpose_8x8(context, words):
    """Transpose 8 x 8 16-bit floats; lane 4 r + c holds row r, columns 2 c and 2 c + 1."""

    def generate(context, builder, signature_, arguments):
        text = "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;"
        return emit(builder, text, "=r,r", [WORD], arguments, True)

    return signature(types.uint32, types.uint32), generate


# ---------------------------------------------------------------- four floats at a time


def address(context, builder, array_type, array, row, column):
    """Pointer to element [row, column, 0] of a C-contiguous three-dimensional array."""
    made = context.make_array(array_type)(context, builder, array)
    shape = cgutils.unpack_tuple(builder, made.shape, 3)
    offset = builder.add(builder.mul(row, shape[1]), column)
    return builder.gep(made.data, [builder.mul(offset, shape[2])])


def index_types(array):
    if array.ndim != 3 or array.dtype != types.float32 or array.layout != "C":
        raise TypeError(
            "four floats at a time need a C-contiguous float32 array (rows, columns, 4)"
        )
    return array, types.int64, types.int64


@with_twin(lambda array, row, column: tuple(array[row, column, i] for i in range(4)))
def load_four(context, array, row, column):
    """The four floats array[row, column, 0 ... 3], as one load of 16 bytes."""
    kind = types.UniTuple(types.float32, 4)
    arguments_types = index_types(array)

    def generate(context, builder, signature_, arguments):
        pointer = address(context, builder, array, *arguments)
        vector = builder.bitcast(pointer, ir.VectorType(FLOAT, 4).as_pointer())
        four = builder.load(vector, align=16)
        values = [builder.extract_element(four, WORD(i)) for i in range(4)]
        return context.make_tuple(builder, kind, values)

    return signature(kind, *arguments_types), generate


def store_four_twin(array, row, column, *values):
    for i, value in enumerate(values):
        array[row, column, i] = value


@with_twin(store_four_twin)
def store_four(context, array, row, column, x, y, z, w):
    """array[row, column, 0 ... 3] = x, y, z, w, as one store of 16 bytes."""
    arguments_types = index_types(array)

    def generate(context, builder, signature_, arguments):
        pointer = address(context, builder, array, *arguments[:3])
        vector = builder.bitcast(pointer, ir.VectorType(FLOAT, 4).as_pointer())
        four = ir.Constant(ir.VectorType(FLOAT, 4), ir.Undefined)
        for i, value in enumerate(arguments[3:]):
            four = builder.insert_element(four, value, WORD(i))
        builder.store(four, vector, align=16)
        return context.get_dummy_value()

    return signature(types.none, *arguments_types, *[types.float32] * 4), generate


def add_four_twin(array, row, column, *values):
    for i, value in enumerate(values):
        array.add((row, column, i), value)


@with_twin(add_four_twin)
def add_four(context, array, row, column, x, y, z, w):
    """Atomically add x, y, z, w to array[row, column, 0 ... 3]; needs compute capability 9.0."""
    arguments_types = index_types(array)

    def generate(context, builder, signature_, arguments):
        pointer = address(context, builder, array, *arguments[:3])
        text = "red.global.add.v4.f32 [$0], {$1, $2, $3, $4};"
        place = builder.ptrtoint(pointer, ir.IntType(64))
        emit(builder, text, "l,f,f,f,f,~{memory}", [], [place, *arguments[3:]], True)
        return context.get_dummy_value()

    return signature(types.none, *arguments_types, *[types.float32] * 4), generate
