"""Raw GPU instructions, each beside a twin in plain NumPy that computes the same.

Python has no words for some things that a GPU can do: multiply small matrices on tensor cores,
keep two 16-bit floats in one register, move four floats at a time. Here each such instruction is
a function that kernels call like any other. Compiled, it is one line of PTX, NVIDIA's assembly
language. In the lab's checked simulator its *twin* runs instead, in plain NumPy (`ptx_twins`).

16-bit floats travel in pairs: a uint32 *word* holds two, the first in its lower half. There are
two kinds. A *half* (IEEE float16) has 11 bits for digits and 5 for the exponent: the finer one, for
activations and weights. A *bfloat* (bfloat16) has 8 and 8: coarser, but with the exponents of a
float32, so that no gradient is too small for it.

Source: NVIDIA, "Parallel Thread Execution ISA", sections on mma, movmatrix, cvt and red.
"""

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import signature
from numba.cuda.extending import intrinsic

from kernels.fast import ptx_numpy as twins

FLOAT, WORD = ir.FloatType(), ir.IntType(32)


def with_twin(twin):
    """Decorate the typing of an instruction: makes the function that kernels call."""

    def decorate(typing):
        function = intrinsic(typing)
        function.emulation = twin
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


def packing(text):
    """Typing of an instruction (float32, float32) -> word. PTX names the upper half first."""

    def typing(context, low, high):
        def generate(context, builder, signature_, arguments):
            return emit(builder, text, "=r,f,f", [WORD], [arguments[1], arguments[0]])

        return signature(types.uint32, types.float32, types.float32), generate

    return typing


pack_halves = with_twin(twins.packing_twin(twins.half_bits))(
    packing("cvt.rn.f16x2.f32 $0, $1, $2;")
)
pack_bfloats = with_twin(twins.packing_twin(twins.bfloat_bits))(
    packing("cvt.rn.bf16x2.f32 $0, $1, $2;")
)


pack_open_halves = with_twin(twins.packing_open_twin(twins.half_bits))(
    packing("cvt.rn.relu.f16x2.f32 $0, $1, $2;")
)
pack_open_bfloats = with_twin(twins.packing_open_twin(twins.bfloat_bits))(
    packing("cvt.rn.relu.bf16x2.f32 $0, $1, $2;")
)


def word_to_word(text):
    """Typing of an instruction (word) -> word."""

    def typing(context, word):
        def generate(context, builder, signature_, arguments):
            return emit(builder, text, "=r,r", [WORD], arguments)

        return signature(types.uint32, types.uint32), generate

    return typing


# Two halves -> two bfloats, by way of float32.
halves_to_bfloats = with_twin(
    lambda word: twins.words_of(*map(twins.bfloat_bits, twins.halves_of(word)))
)(
    word_to_word(
        "{.reg .b16 l, h; .reg .f32 x, y; mov.b32 {l, h}, $1; cvt.f32.f16 x, l;"
        " cvt.f32.f16 y, h; cvt.rn.bf16x2.f32 $0, y, x;}"
    )
)


# 0xFFFF for each of the two numbers in a word whose sign bit is set, else 0: the permutation of
# bytes takes bytes 1, 1, 3, 3, and of each only the sign, eight times.
mask_of_signs = with_twin(twins.mask_of_signs_twin)(word_to_word("prmt.b32 $0, $1, 0, 0xBB99;"))


@with_twin(twins.one_of_each_twin)
def one_of_each(context, first, second, upper):
    """A word of the lower halves of two words (upper = 0), or of their upper halves (1)."""

    def generate(context, builder, signature_, arguments):
        first, second, upper = arguments
        # Bytes 1 0 of each word, or 3 2: the second word's bytes are called 4 to 7.
        lower_bytes, upper_bytes = WORD(0x5410), WORD(0x7632)
        choice = builder.select(builder.trunc(upper, ir.IntType(1)), upper_bytes, lower_bytes)
        return emit(
            builder, "prmt.b32 $0, $1, $2, $3;", "=r,r,r,r", [WORD], [first, second, choice]
        )

    return signature(types.uint32, types.uint32, types.uint32, types.uint32), generate


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


multiply_halves = with_twin(twins.multiply_twin(twins.halves_of))(multiplying("f16"))
multiply_bfloats = with_twin(twins.multiply_twin(twins.bfloats_of))(multiplying("bf16"))


@with_twin(twins.transpose_twin)
def transpose_8x8(context, words):
    """Transpose 8 x 8 16-bit floats; lane 4 r + c holds row r, columns 2 c and 2 c + 1."""

    def generate(context, builder, signature_, arguments):
        text = "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;"
        return emit(builder, text, "=r,r", [WORD], arguments, True)

    return signature(types.uint32, types.uint32), generate


# ---------------------------------------------------------------- four floats at a time


def address(context, builder, array_type, array, row):
    """Pointer to the four floats of a row of a C-contiguous array (rows, 4)."""
    made = context.make_array(array_type)(context, builder, array)
    first = builder.shl(row, ir.IntType(64)(2))
    vector = builder.gep(made.data, [first])
    return builder.bitcast(vector, ir.VectorType(FLOAT, 4).as_pointer())


def index_types(array):
    if array.ndim != 2 or array.dtype != types.float32 or array.layout != "C":
        raise TypeError("four floats at a time need a C-contiguous float32 array (rows, 4)")
    return array, types.int64


@with_twin(twins.load_four_twin)
def load_four(context, array, row):
    """The four floats of array[row], as one load of 16 bytes.

    It happens where it is written: the compiler would move a load to where its result is needed,
    and have the thread wait there.
    """
    kind = types.UniTuple(types.float32, 4)
    arguments_types = index_types(array)

    def generate(context, builder, signature_, arguments):
        pointer = address(context, builder, array, *arguments)
        place = builder.ptrtoint(pointer, ir.IntType(64))
        text = "ld.global.v4.f32 {$0, $1, $2, $3}, [$4];"
        struct = emit(builder, text, "=f,=f,=f,=f,l,~{memory}", [FLOAT] * 4, [place], True)
        return as_tuple(context, builder, kind, struct)

    return signature(kind, *arguments_types), generate


@with_twin(twins.store_four_twin)
def store_four(context, array, row, x, y, z, w):
    """array[row] = x, y, z, w, as one store of 16 bytes."""
    arguments_types = index_types(array)

    def generate(context, builder, signature_, arguments):
        pointer = address(context, builder, array, *arguments[:2])
        four = ir.Constant(ir.VectorType(FLOAT, 4), ir.Undefined)
        for i, value in enumerate(arguments[2:]):
            four = builder.insert_element(four, value, WORD(i))
        builder.store(four, pointer, align=16)
        return context.get_dummy_value()

    return signature(types.none, *arguments_types, *[types.float32] * 4), generate


@with_twin(twins.add_four_twin)
def add_four(context, array, row, x, y, z, w):
    """Atomically add x, y, z, w to array[row]; needs compute capability 9.0."""
    arguments_types = index_types(array)

    def generate(context, builder, signature_, arguments):
        pointer = address(context, builder, array, *arguments[:2])
        text = "red.global.add.v4.f32 [$0], {$1, $2, $3, $4};"
        place = builder.ptrtoint(pointer, ir.IntType(64))
        emit(builder, text, "l,f,f,f,f,~{memory}", [], [place, *arguments[2:]], True)
        return context.get_dummy_value()

    return signature(types.none, *arguments_types, *[types.float32] * 4), generate


# ---------------------------------------------------------------- meeting other blocks


def first_of(context, builder, array_type, array):
    made = context.make_array(array_type)(context, builder, array)
    return builder.ptrtoint(made.data, ir.IntType(64))


@with_twin(twins.arrive_twin)
def arrive(context, counter):
    """Add 1 to counter[0] (uint32); whoever sees it also sees all that was written before.

    Blocks that wait for each other must all be on the GPU at once. So a kernel that calls this is
    launched *cooperatively*: the launch fails if they do not fit.
    """

    def generate(context, builder, signature_, arguments):
        context.active_code_library.use_cooperative = True
        place = first_of(context, builder, counter, arguments[0])
        emit(builder, "red.release.gpu.global.add.u32 [$0], 1;", "l,~{memory}", [], [place], True)
        return context.get_dummy_value()

    return signature(types.none, counter), generate


@with_twin(twins.arrived_twin)
def arrived(context, counter):
    """Read counter[0] (uint32); what was written before an `arrive` seen here can be read now."""

    def generate(context, builder, signature_, arguments):
        place = first_of(context, builder, counter, arguments[0])
        text = "ld.acquire.gpu.global.u32 $0, [$1];"
        return emit(builder, text, "=r,l,~{memory}", [WORD], [place], True)

    return signature(types.uint32, counter), generate
