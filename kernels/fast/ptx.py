"""Raw GPU instructions, each with an emulation in plain NumPy that computes the same.

Python has no words for some things that a GPU can do: multiply small matrices on tensor cores,
keep two 16-bit floats in one register, move four floats at a time, wait for other blocks. Here each
such instruction is a function that kernels call like any other. Compiled, it is one line of PTX,
NVIDIA's assembly language. The lab's checked simulator runs its *emulation* instead (`ptx_numpy`).

16-bit floats travel in pairs: a uint32 *word* holds two, the first in its lower 16 bits. There are
two kinds. A *half* (IEEE float16) has a significand of 11 bits and an exponent of 5: the finer one,
for activations and weights. A *bfloat16* has 8 and 8: coarser, but with the exponents of a float32,
so that no gradient is too small for it.

Source: NVIDIA, "Parallel Thread Execution ISA", sections on mma, movmatrix, cvt, prmt, ld, st, red,
bar and cp.async.
"""

from inspect import Parameter, Signature

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import signature
from numba.cuda.extending import intrinsic

from kernels.fast import ptx_numpy

FLOAT, WORD, ADDRESS = ir.FloatType(), ir.IntType(32), ir.IntType(64)
REGISTERS = {types.float32: "f", types.uint32: "r", types.int32: "r"}
LLVM_TYPES = {types.float32: FLOAT, types.uint32: WORD}


def emulated_by(emulation, text=None):
    """Decorate the typing of an instruction: makes the function that kernels call.

    text: the instruction, in which $0, $1, ... stand for results and then arguments.
    """

    def decorate(typing):
        function = intrinsic(typing)
        function.emulation, function.text = emulation, text
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


def between_registers(emulation, text, results, arguments, side_effect=False):
    """An instruction from numbers to numbers. results, arguments: Numba's types, in its order."""
    results, arguments = tuple(results), tuple(arguments)  # what never changes can be kept on disk
    registers = ",".join(
        [
            *(f"={REGISTERS[kind]}" for kind in results),
            *(REGISTERS[kind] for kind in arguments),
            *([] if results else ["~{memory}"]),
        ]
    )
    several = types.UniTuple(results[0], len(results)) if len(results) > 1 else None
    result = several or (results[0] if results else types.none)

    def typing(context, *given):
        def generate(context, builder, signature_, values):
            kinds = [LLVM_TYPES[kind] for kind in results]
            made = emit(builder, text, registers, kinds, values, side_effect)
            if several:
                return as_tuple(context, builder, several, made)
            return made if results else context.get_dummy_value()

        return signature(result, *arguments), generate

    # Numba wants to see each argument.
    names = ["context", *(f"x{i}" for i in range(len(arguments)))]
    one = Parameter.POSITIONAL_OR_KEYWORD
    typing.__signature__ = Signature([Parameter(name, one) for name in names])
    return emulated_by(emulation, text)(typing)


# ---------------------------------------------------------------- pairs of 16-bit floats


def packing(emulation, text):
    """(float32, float32) -> word. PTX names the upper 16 bits first."""
    return between_registers(emulation, text, [types.uint32], [types.float32, types.float32])


def word_to_word(emulation, text, side_effect=False):
    return between_registers(emulation, text, [types.uint32], [types.uint32], side_effect)


pack_halves = packing(ptx_numpy.pack_halves, "cvt.rn.f16x2.f32 $0, $2, $1;")
pack_bfloat16 = packing(ptx_numpy.pack_bfloat16, "cvt.rn.bf16x2.f32 $0, $2, $1;")

# The same after a ReLU, which costs nothing here.
pack_relu_halves = packing(ptx_numpy.pack_relu_halves, "cvt.rn.relu.f16x2.f32 $0, $2, $1;")
pack_relu_bfloat16 = packing(ptx_numpy.pack_relu_bfloat16, "cvt.rn.relu.bf16x2.f32 $0, $2, $1;")

# Two halves -> two bfloat16, by way of float32.
halves_to_bfloat16 = word_to_word(
    ptx_numpy.halves_to_bfloat16,
    "{.reg .b16 l, h; .reg .f32 x, y; mov.b32 {l, h}, $1; cvt.f32.f16 x, l;"
    " cvt.f32.f16 y, h; cvt.rn.bf16x2.f32 $0, y, x;}",
)

# 0xFFFF for each of the two numbers in a word whose sign bit is set, else 0: the permutation of
# bytes takes bytes 1, 1, 3, 3, and of each only the sign, eight times.
mask_of_signs = word_to_word(ptx_numpy.mask_of_signs, "prmt.b32 $0, $1, 0, 0xBB99;")

# 0xFFFF for each of the two halves in a word that is above zero, else 0.
mask_of_positive_halves = word_to_word(
    ptx_numpy.mask_of_positive_halves,
    "{.reg .b32 zero; mov.b32 zero, 0; set.gt.u32.f16x2 $0, $1, zero;}",
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


def multiplying(emulation, kind, inner=16):
    """(four words of A, two of B, four floats of C) -> C + A @ B; inner: the columns of A."""
    text = (
        f"mma.sync.aligned.m16n8k{inner}.row.col.f32.{kind}.{kind}.f32 "
        "{$0,$1,$2,$3}, {$4,$5,$6,$7}, {$8,$9}, {$10,$11,$12,$13};"
    )
    floats = [types.float32] * 4
    return between_registers(emulation, text, floats, [types.uint32] * 6 + floats, True)


multiply_halves = multiplying(ptx_numpy.multiply_halves, "f16")
multiply_bfloat16 = multiplying(ptx_numpy.multiply_bfloat16, "bf16")

# With float32 numbers of which 11 significant bits are used (TF32) the fragments are shorter. A
# (16 x 8): row r, column c (word 0); row r + 8 (1); both again, 4 columns further right (2 and 3).
# B (8 x 8): row c, column r (0); 4 rows further down (1). C is as above.
multiply_tf32 = multiplying(ptx_numpy.multiply_tf32, "tf32", 8)

# The instruction ignores the lower 13 bits of its words: so they are rounded away before.
round_to_tf32 = between_registers(
    ptx_numpy.round_to_tf32, "cvt.rna.tf32.f32 $0, $1;", [types.uint32], [types.float32]
)

# 2 ** x in one instruction, right to 22 bits.
power_of_two = between_registers(
    ptx_numpy.power_of_two, "ex2.approx.ftz.f32 $0, $1;", [types.float32], [types.float32]
)

# Transpose 8 x 8 16-bit floats; lane 4 r + c holds row r, columns 2 c and 2 c + 1.
transpose_8x8 = word_to_word(
    ptx_numpy.transpose_8x8, "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", True
)

# ---------------------------------------------------------------- four floats at a time


def pointer_to_four(context, builder, array_type, array, row):
    """Pointer to the four floats of a row of a C-contiguous array (rows, 4)."""
    made = context.make_array(array_type)(context, builder, array)
    vector = builder.gep(made.data, [builder.shl(row, ADDRESS(2))])
    return builder.bitcast(vector, ir.VectorType(FLOAT, 4).as_pointer())


def index_types(array):
    """(type of the array, type of its row number); raises TypeError for other arrays."""
    if array.ndim != 2 or array.dtype != types.float32 or array.layout != "C":
        raise TypeError("four floats at a time need a C-contiguous float32 array (rows, 4)")
    return array, types.int64


LOAD_FOUR = "ld.global.v4.f32 {$0, $1, $2, $3}, [$4];"
STORE_FOUR = "st.global.v4.f32 [$0], {$1, $2, $3, $4};"
ADD_FOUR = "red.global.add.v4.f32 [$0], {$1, $2, $3, $4};"


@emulated_by(ptx_numpy.load_four, LOAD_FOUR)
def load_four(context, array, row):
    """The four floats of array[row], as one load of 16 bytes.

    Volatile, so that the load is issued here: the compiler would otherwise move it down to its
    first use, and the thread would wait there.
    """
    kind = types.UniTuple(types.float32, 4)
    argument_types = index_types(array)

    def generate(context, builder, signature_, arguments):
        pointer = pointer_to_four(context, builder, array, *arguments)
        address = builder.ptrtoint(pointer, ADDRESS)
        registers = "=f,=f,=f,=f,l,~{memory}"
        struct = emit(builder, LOAD_FOUR, registers, [FLOAT] * 4, [address], True)
        return as_tuple(context, builder, kind, struct)

    return signature(kind, *argument_types), generate


@emulated_by(ptx_numpy.store_four, STORE_FOUR)
def store_four(context, array, row, x, y, z, w):
    """array[row] = x, y, z, w, as one store of 16 bytes."""
    argument_types = index_types(array)

    def generate(context, builder, signature_, arguments):
        pointer = pointer_to_four(context, builder, array, *arguments[:2])
        four = ir.Constant(ir.VectorType(FLOAT, 4), ir.Undefined)
        for i, value in enumerate(arguments[2:]):
            four = builder.insert_element(four, value, WORD(i))
        builder.store(four, pointer, align=16)
        return context.get_dummy_value()

    return signature(types.none, *argument_types, *[types.float32] * 4), generate


@emulated_by(ptx_numpy.add_four, ADD_FOUR)
def add_four(context, array, row, x, y, z, w):
    """Atomically add x, y, z, w to array[row]; needs compute capability 9.0."""
    argument_types = index_types(array)

    def generate(context, builder, signature_, arguments):
        pointer = pointer_to_four(context, builder, array, *arguments[:2])
        address = builder.ptrtoint(pointer, ADDRESS)
        emit(builder, ADD_FOUR, "l,f,f,f,f,~{memory}", [], [address, *arguments[2:]], True)
        return context.get_dummy_value()

    return signature(types.none, *argument_types, *[types.float32] * 4), generate


# ---------------------------------------------------------------- waiting


def address_of(context, builder, array_type, array):
    """Address of the first element of an array."""
    made = context.make_array(array_type)(context, builder, array)
    return builder.ptrtoint(made.data, ADDRESS)


ARRIVE = "red.release.gpu.global.add.u32 [$0], 1;"
ARRIVED = "ld.acquire.gpu.global.u32 $0, [$1];"


@emulated_by(ptx_numpy.arrive, ARRIVE)
def arrive(context, counter):
    """Add 1 to counter[0] (uint32); whoever sees it also sees all that was written before.

    Blocks that wait for each other must all be on the GPU at once. So a kernel that calls this is
    launched *cooperatively*: the launch fails if they do not fit.
    """

    def generate(context, builder, signature_, arguments):
        context.active_code_library.use_cooperative = True
        address = address_of(context, builder, counter, arguments[0])
        emit(builder, ARRIVE, "l,~{memory}", [], [address], True)
        return context.get_dummy_value()

    return signature(types.none, counter), generate


@emulated_by(ptx_numpy.arrived, ARRIVED)
def arrived(context, counter):
    """Read counter[0] (uint32); what was written before an `arrive` seen here can be read now."""

    def generate(context, builder, signature_, arguments):
        address = address_of(context, builder, counter, arguments[0])
        return emit(builder, ARRIVED, "=r,l,~{memory}", [WORD], [address], True)

    return signature(types.uint32, counter), generate


def barrier_of_some(text):
    """(number of a barrier, threads it is for) -> nothing.

    `syncthreads` is barrier 0. At the others some threads may pass without waiting, and leave word
    that what they have written can be read; the rest wait for them.
    """
    numbers = [types.int32, types.int32]
    return between_registers(ptx_numpy.at_barrier, text, [], numbers, True)


pass_barrier = barrier_of_some("bar.arrive $0, $1;")
wait_at_named_barrier = barrier_of_some("bar.sync $0, $1;")

# ---------------------------------------------------------------- copies in the background


@emulated_by(ptx_numpy.begin_copy)
def begin_copy(context, tile, tile_row, tile_column, matrix, row, column, inside):
    """Begin to copy four words from a matrix into shared memory, without waiting for them.

    An ordinary copy goes through a register, and the thread that stores it waits until the number
    is there. Here nobody waits before `wait_for_copies`.

    Both arrays are two-dimensional, of uint32 or float32. The length of their rows, and the columns
    named here, are multiples of four words. Where `inside` is 0, four zeros are stored. Nobody may
    read them before `wait_for_copies` and a barrier. Needs compute capability 8.0.
    """
    text = "{.reg .u64 s; cvta.to.shared.u64 s, $0; cp.async.cg.shared.global [s], [$1], 16, $2;}"

    def generate(context, builder, signature_, arguments):
        to = address_in(context, builder, tile, *arguments[:3])
        source = address_in(context, builder, matrix, *arguments[3:6])
        size = builder.shl(arguments[6], WORD(4))  # bytes that are read; the others become zeros
        emit(builder, text, "l,l,r,~{memory}", [], [to, source, size], True)
        return context.get_dummy_value()

    index = types.int64
    return signature(types.none, tile, index, index, matrix, index, index, types.int32), generate


def address_in(context, builder, array_type, array, row, column):
    """Address of array[row, column], of four-byte elements in rows of one length."""
    made = context.make_array(array_type)(context, builder, array)
    width = builder.extract_value(made.shape, 1)
    place = builder.add(builder.mul(row, width), column)
    return builder.ptrtoint(builder.gep(made.data, [place]), ADDRESS)


# Wait for all copies that this thread has begun.
wait_for_copies = between_registers(ptx_numpy.wait_for_copies, "cp.async.wait_all;", [], [], True)
