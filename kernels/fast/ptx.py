"""Raw GPU instructions, each with an emulation in plain NumPy that computes the same.

Python has no words for some things that a GPU can do: multiply small matrices on tensor cores,
keep two 16-bit floats in one register, move four floats at a time. Here each such instruction is
a function that kernels call like any other. Compiled, it is one line of PTX, NVIDIA's assembly
language. The lab's checked simulator runs its *emulation* instead (`ptx_numpy`).

In this file are instructions that compute in registers; `ptx_memory` has those that move numbers
and wait.

16-bit floats travel in pairs: a uint32 *word* holds two, the first in its lower 16 bits. There are
two kinds. A *half* (IEEE float16) has a significand of 11 bits and an exponent of 5: the finer one,
for activations and weights. A *bfloat16* has 8 and 8: coarser, but with the exponents of a float32,
so that no gradient is too small for it.

Source: NVIDIA, "Parallel Thread Execution ISA", sections on mma, movmatrix, cvt and prmt.
"""

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import signature
from numba.cuda.extending import intrinsic

from kernels.fast import ptx_numpy

FLOAT, WORD = ir.FloatType(), ir.IntType(32)


def emulated_by(emulation, text=None):
    """Decorate the typing of an instruction: makes the function that kernels call.

    text: the instruction, in which $0, $1, ... stand for results and then arguments; None if that
    of the typing.
    """

    def decorate(typing):
        function = intrinsic(typing)
        function.emulation = emulation
        function.text = text or getattr(typing, "text", None)
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
    """Numba's tuple of the elements of an LLVM struct."""
    values = [builder.extract_value(struct, i) for i in range(len(kind))]
    return context.make_tuple(builder, kind, values)


# ---------------------------------------------------------------- pairs of 16-bit floats


def packing(text):
    """Typing of an instruction (float32, float32) -> word. PTX names the upper 16 bits first."""

    def typing(context, low, high):
        def generate(context, builder, signature_, arguments):
            return emit(builder, text, "=r,f,f", [WORD], [arguments[1], arguments[0]])

        return signature(types.uint32, types.float32, types.float32), generate

    typing.text = text
    return typing


def word_to_word(text):
    """Typing of an instruction (word) -> word."""

    def typing(context, word):
        def generate(context, builder, signature_, arguments):
            return emit(builder, text, "=r,r", [WORD], arguments)

        return signature(types.uint32, types.uint32), generate

    typing.text = text
    return typing


pack_halves = emulated_by(ptx_numpy.pack_halves)(packing("cvt.rn.f16x2.f32 $0, $1, $2;"))
pack_bfloat16 = emulated_by(ptx_numpy.pack_bfloat16)(packing("cvt.rn.bf16x2.f32 $0, $1, $2;"))

# The same after a ReLU, which costs nothing here.
pack_relu_halves = emulated_by(ptx_numpy.pack_relu_halves)(
    packing("cvt.rn.relu.f16x2.f32 $0, $1, $2;")
)
pack_relu_bfloat16 = emulated_by(ptx_numpy.pack_relu_bfloat16)(
    packing("cvt.rn.relu.bf16x2.f32 $0, $1, $2;")
)

# Two halves -> two bfloat16, by way of float32.
halves_to_bfloat16 = emulated_by(ptx_numpy.halves_to_bfloat16)(
    word_to_word(
        "{.reg .b16 l, h; .reg .f32 x, y; mov.b32 {l, h}, $1; cvt.f32.f16 x, l;"
        " cvt.f32.f16 y, h; cvt.rn.bf16x2.f32 $0, y, x;}"
    )
)

# 0xFFFF for each of the two numbers in a word whose sign bit is set, else 0: the permutation of
# bytes takes bytes 1, 1, 3, 3, and of each only the sign, eight times.
mask_of_signs = emulated_by(ptx_numpy.mask_of_signs)(word_to_word("prmt.b32 $0, $1, 0, 0xBB99;"))


# 0xFFFF for each of the two halves in a word that is above zero, else 0.
mask_of_positive_halves = emulated_by(ptx_numpy.mask_of_positive_halves)(
    word_to_word("{.reg .b32 zero; mov.b32 zero, 0; set.gt.u32.f16x2 $0, $1, zero;}")
)


SELECT_BYTES = "prmt.b32 $0, $1, $2, $3;"
# Bytes 1 0 of each of two words, or 3 2: the second word's bytes are called 4 to 7.
LOWER_BYTES, UPPER_BYTES = 0x5410, 0x7632


@emulated_by(ptx_numpy.select_16_bits, SELECT_BYTES)
def select_16_bits(context, first, second, upper):
    """One word of the lower 16 bits of two words (upper = 0), or of their upper 16 bits (1)."""

    def generate(context, builder, signature_, arguments):
        first, second, upper = arguments
        is_upper = builder.trunc(upper, ir.IntType(1))
        choice = builder.select(is_upper, WORD(UPPER_BYTES), WORD(LOWER_BYTES))
        return emit(builder, SELECT_BYTES, "=r,r,r,r", [WORD], [first, second, choice])

    return signature(types.uint32, types.uint32, types.uint32, types.uint32), generate


SAME_BITS = "mov.b32 $0, $1;"


@emulated_by(ptx_numpy.word_as_float, SAME_BITS)
def word_as_float(context, word):
    """The float32 with the same bits: what is stored as floats may be something else."""

    def generate(context, builder, signature_, arguments):
        return builder.bitcast(arguments[0], FLOAT)

    return signature(types.float32, types.uint32), generate


@emulated_by(ptx_numpy.float_as_word, SAME_BITS)
def float_as_word(context, number):
    def generate(context, builder, signature_, arguments):
        return builder.bitcast(arguments[0], WORD)

    return signature(types.uint32, types.float32), generate


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

    typing.text = text
    return typing


multiply_halves = emulated_by(ptx_numpy.multiply_halves)(multiplying("f16"))
multiply_bfloat16 = emulated_by(ptx_numpy.multiply_bfloat16)(multiplying("bf16"))


TRANSPOSE = "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;"


@emulated_by(ptx_numpy.transpose_8x8, TRANSPOSE)
def transpose_8x8(context, words):
    """Transpose 8 x 8 16-bit floats; lane 4 r + c holds row r, columns 2 c and 2 c + 1."""

    def generate(context, builder, signature_, arguments):
        return emit(builder, TRANSPOSE, "=r,r", [WORD], arguments, True)

    return signature(types.uint32, types.uint32), generate
