"""The instructions of `ptx` and `ptx` for numba-cuda-mlir, which takes PTX as text.

Imported only where that compiler is the front end (`kernels.plumbing.front_end`). What an
instruction does, its text and its emulation are there. Here are the registers that it goes
through: "=r" or "=f" for a result of 32 bits, a number or a float32, and "r", "f" for arguments;
"C" is an address. A result has no value before, so what stands behind its letter says only its
type.
"""

from numba_cuda_mlir import cuda
from numba_cuda_mlir.cuda import experimental
from numba_cuda_mlir.types import float32, int32, int64, ptr, uint32

from kernels.fast import ptx

BYTES_OF_FOUR = 16


def text_of(function):
    """The text of an instruction as this compiler has it, with %0 in place of $0."""
    return function.text.replace("$", "%")


def packing(function):
    text = text_of(function)

    @cuda.jit(device=True)
    def pack(low, high):
        return uint32(experimental.inline_ptx(text, "=r", int32(0), "f", low, "f", high))

    return pack


def word_to_word(function):
    text = text_of(function)

    @cuda.jit(device=True)
    def convert(word):
        return uint32(experimental.inline_ptx(text, "=r", int32(0), "r", int32(word)))

    return convert


pack_halves = packing(ptx.pack_halves)
pack_bfloat16 = packing(ptx.pack_bfloat16)
pack_relu_halves = packing(ptx.pack_relu_halves)
pack_relu_bfloat16 = packing(ptx.pack_relu_bfloat16)
halves_to_bfloat16 = word_to_word(ptx.halves_to_bfloat16)
mask_of_signs = word_to_word(ptx.mask_of_signs)
mask_of_positive_halves = word_to_word(ptx.mask_of_positive_halves)
transpose_8x8 = word_to_word(ptx.transpose_8x8)

SELECT_BYTES = text_of(ptx.select_16_bits)
LOWER_BYTES, UPPER_BYTES = ptx.LOWER_BYTES, ptx.UPPER_BYTES
SAME_BITS = text_of(ptx.word_as_float)


@cuda.jit(device=True)
def select_16_bits(first, second, upper):
    choice = int32(UPPER_BYTES) if upper else int32(LOWER_BYTES)
    return uint32(
        experimental.inline_ptx(
            SELECT_BYTES, "=r", int32(0), "r", int32(first), "r", int32(second), "r", choice
        )
    )


@cuda.jit(device=True)
def word_as_float(word):
    return experimental.inline_ptx(SAME_BITS, "=f", float32(0), "r", int32(word))


def float_to_word(text):
    @cuda.jit(device=True)
    def convert(number):
        return uint32(experimental.inline_ptx(text, "=r", int32(0), "f", number))

    return convert


float_as_word = float_to_word(SAME_BITS)
round_to_tf32 = float_to_word(text_of(ptx.round_to_tf32))
POWER_OF_TWO = text_of(ptx.power_of_two)


@cuda.jit(device=True)
def power_of_two(exponent):
    return experimental.inline_ptx(POWER_OF_TWO, "=f", float32(0), "f", exponent)


def multiplying(function):
    text = text_of(function)

    @cuda.jit(device=True)
    def multiply(a0, a1, a2, a3, b0, b1, c0, c1, c2, c3):
        zero = float32(0)
        return experimental.inline_ptx(
            text, "=f", zero, "=f", zero, "=f", zero, "=f", zero,
            "r", int32(a0), "r", int32(a1), "r", int32(a2), "r", int32(a3),
            "r", int32(b0), "r", int32(b1),
            "f", c0, "f", c1, "f", c2, "f", c3,
        )  # fmt: skip

    return multiply


multiply_halves = multiplying(ptx.multiply_halves)
multiply_bfloat16 = multiplying(ptx.multiply_bfloat16)
multiply_tf32 = multiplying(ptx.multiply_tf32)

LOAD_FOUR, STORE_FOUR = text_of(ptx.load_four), text_of(ptx.store_four)
ADD_FOUR = text_of(ptx.add_four)


@cuda.jit(device=True)
def address_of_four(array, row):
    return ptr(array) + int64(row) * int64(BYTES_OF_FOUR)


@cuda.jit(device=True)
def load_four(array, row):
    zero = float32(0)
    return experimental.inline_ptx(
        LOAD_FOUR, "=f", zero, "=f", zero, "=f", zero, "=f", zero, "C", address_of_four(array, row)
    )


@cuda.jit(device=True)
def store_four(array, row, x, y, z, w):
    experimental.inline_ptx(
        STORE_FOUR, "C", address_of_four(array, row), "f", x, "f", y, "f", z, "f", w
    )


@cuda.jit(device=True)
def add_four(array, row, x, y, z, w):
    experimental.inline_ptx(
        ADD_FOUR, "C", address_of_four(array, row), "f", x, "f", y, "f", z, "f", w
    )


ARRIVE, ARRIVED = text_of(ptx.arrive), text_of(ptx.arrived)


@cuda.jit(device=True)
def arrive(counter):
    # The launch of a kernel that knows the whole grid is a cooperative one.
    cuda.cg.this_grid()
    experimental.inline_ptx(ARRIVE, "C", ptr(counter))


@cuda.jit(device=True)
def arrived(counter):
    return uint32(experimental.inline_ptx(ARRIVED, "=r", int32(0), "C", ptr(counter)))


def barrier_of_some(function):
    text = text_of(function)

    @cuda.jit(device=True)
    def wait(barrier, threads):
        experimental.inline_ptx(text, "r", int32(barrier), "r", int32(threads))

    return wait


pass_barrier = barrier_of_some(ptx.pass_barrier)
wait_at_named_barrier = barrier_of_some(ptx.wait_at_named_barrier)
