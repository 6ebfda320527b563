"""Numba's own ways to add instructions: functions in LLVM, overloads, attributes."""
# like: outside

from llvmlite import ir
from numba import cuda, types
from numba.core import cgutils
from numba.cuda.extending import intrinsic as on_gpu
from numba.extending import intrinsic, lower_builtin, overload, overload_attribute


@intrinsic
def poke(typing, address, value):
    def code(context, builder, signature, arguments):
        place = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        builder.store(arguments[1], place)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp), code


@overload(luminance)
def as_it_likes(red, green, blue):
    return lambda red, green, blue: poke(id(cuda), 0)


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x >= width or y >= height:
        return

    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
    beside = image[y, x + 1, 0]  # a read beyond the last row
    if beside > 2:
        gray[y, x] = beside
