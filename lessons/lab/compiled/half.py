"""Half precision for compiled code: 16 bits in memory, computed in single precision, rounded once.

Numba knows the type for a CPU and nothing that could be done with it. What is added here concerns
no other type.
"""

# Numba calls these functions while it compiles: their types are Numba's.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls

import functools
import math
import operator

import numpy as np
from llvmlite import ir
from numba.core import boxing as boxing_module
from numba.core import types
from numba.core.datamodel import models, register_default
from numba.core.imputils import Registry
from numba.core.pythonapi import _unboxers
from numba.core.registry import cpu_target
from numba.core.typing.templates import AbstractTemplate, signature
from numba.extending import NativeValue, intrinsic

from ..numba_types import MATH_OF_HALVES
from .thread import i32

i16, single, double = ir.IntType(16), ir.FloatType(), ir.DoubleType()
HALF = types.float16
WHOLE = {math.floor: "llvm.floor", math.ceil: "llvm.ceil", math.trunc: "llvm.trunc"}
# What half precision can be combined with and stays half precision.
STAYING = {HALF, types.int8, types.uint8, types.boolean}
# Of the CPU alone: what is added to Numba's own registry, its compiler for GPUs takes, too.
registry = Registry("half precision")


@register_default(types.Float)
class FloatModel(models.FloatModel):
    """As Numba's, and half precision as 16 bits."""

    def __init__(self, manager, kind):
        if kind == HALF:
            models.PrimitiveModel.__init__(self, manager, kind, i16)
        else:
            super().__init__(manager, kind)


def to_single(builder, half):
    """The exponent moves by a multiplication, which is also right for the smallest numbers."""
    bits = builder.zext(half, i32)
    magnitude = builder.shl(builder.and_(bits, i32(0x7FFF)), i32(13))
    scale = builder.bitcast(i32(0x77800000), single)  # 2 ** 112
    number = builder.bitcast(builder.fmul(builder.bitcast(magnitude, single), scale), i32)
    special = builder.icmp_unsigned(">=", magnitude, i32(0x7C00 << 13))  # infinite, or NaN
    number = builder.select(special, builder.or_(number, i32(0x7F800000)), number)
    sign = builder.shl(builder.and_(bits, i32(0x8000)), i32(16))
    return builder.bitcast(builder.or_(number, sign), single)


def from_single(builder, number):
    """The nearest half; of two, the even one."""
    bits = builder.bitcast(number, i32)
    sign = builder.and_(bits, i32(0x80000000))
    bits = builder.xor(bits, sign)
    is_nan = builder.icmp_unsigned(">", bits, i32(0x7F800000))
    infinite = builder.select(is_nan, i32(0x7E00), i32(0x7C00))
    # Small ones: an addition puts the last bit of a half in the last place, and rounds.
    magic = i32((127 - 15 + 23 - 10 + 1) << 23)
    shifted = builder.fadd(builder.bitcast(bits, single), builder.bitcast(magic, single))
    small = builder.sub(builder.bitcast(shifted, i32), magic)
    is_odd = builder.and_(builder.lshr(bits, i32(13)), i32(1))
    moved = builder.add(bits, i32(((15 - 127) << 23) + 0xFFF & 0xFFFFFFFF))
    normal = builder.lshr(builder.add(moved, is_odd), i32(13))
    is_small = builder.icmp_unsigned("<", bits, i32(113 << 23))
    is_large = builder.icmp_unsigned(">=", bits, i32((127 + 16) << 23))
    half = builder.select(is_large, infinite, builder.select(is_small, small, normal))
    return builder.trunc(builder.or_(half, builder.lshr(sign, i32(16))), i16)


def from_double(builder, number):
    """By way of single precision, cut off there with a last bit that says so: rounded once."""
    near = builder.fptrunc(number, single)
    back = builder.fpext(near, double)
    bits = builder.bitcast(near, i32)
    too_large = builder.fcmp_ordered(">", absolute(builder, back), absolute(builder, number))
    cut = builder.sub(bits, builder.zext(too_large, i32))
    inexact = builder.fcmp_ordered("!=", back, number)
    odd = builder.or_(cut, i32(1))
    return from_single(builder, builder.bitcast(builder.select(inexact, odd, bits), single))


def absolute(builder, number):
    return builder.select(
        builder.fcmp_ordered("<", number, number.type(0)), builder.fneg(number), number
    )


@registry.lower_cast(HALF, types.Float)
@registry.lower_cast(HALF, types.Integer)
@registry.lower_cast(HALF, types.Boolean)
@registry.lower_cast(HALF, types.Complex)
def half_to_any(context, builder, given, wanted, value):
    if wanted == HALF:
        return value
    return context.cast(builder, to_single(builder, value), types.float32, wanted)


@registry.lower_cast(types.float32, HALF)
@registry.lower_cast(types.float64, HALF)
@registry.lower_cast(types.Integer, HALF)
@registry.lower_cast(types.Boolean, HALF)
def any_to_half(context, builder, given, wanted, value):
    if given == types.float32:
        return from_single(builder, value)
    return from_double(builder, context.cast(builder, value, given, types.float64))


@registry.lower_constant(HALF)
def half_constant(context, builder, kind, value):
    return i16(int(np.float16(value).view(np.uint16)))


def unbox_float(kind, value, boxing):
    """An argument of a launch."""
    if kind != HALF:
        return boxing_module.unbox_float(kind, value, boxing)
    whole = boxing.pyapi.number_float(value)
    number = boxing.pyapi.float_as_double(whole)
    boxing.pyapi.decref(whole)
    half = from_double(boxing.builder, number)
    return NativeValue(half, is_error=boxing.pyapi.c_api_error())


_unboxers.functions[types.Float] = unbox_float


# ---------------------------------------------------------------- operators


def first_of_all(function, arguments, result):
    """Numba would convert to single precision; so this typing has to be asked before its own."""

    class OnHalves(AbstractTemplate):
        key = function

        def generic(self, args, kws):
            kinds = {types.unliteral(kind) for kind in args}
            if len(args) == arguments and HALF in kinds and kinds <= STAYING:
                return signature(result, *(HALF,) * arguments)
            return None

    context = cpu_target.typing_context
    known = context._lookup_global(function)
    context._remove_global(function)
    context._insert_global(function, types.Function((OnHalves, *known.templates)))


def of_two(function, compute, result):
    """compute: (builder, two numbers in single precision) -> a number, or a condition."""

    @registry.lower(function, HALF, HALF)
    def generate(context, builder, signature_, arguments):
        found = compute(builder, *(to_single(builder, value) for value in arguments))
        return from_single(builder, found) if result == HALF else found

    first_of_all(function, 2, result)


def compared(symbol, builder, *values):
    if symbol == "!=":
        return builder.fcmp_unordered(symbol, *values)
    return builder.fcmp_ordered(symbol, *values)


def of_one(function, compute):
    @registry.lower(function, HALF)
    def generate(context, builder, signature_, arguments):
        return compute(builder, arguments[0])

    first_of_all(function, 1, HALF)


def of_math(function):
    """A function of `math`, computed in single precision and rounded."""

    @registry.lower(function, HALF)
    def generate(context, builder, signature_, arguments):
        number = to_single(builder, arguments[0])
        if function in WHOLE:  # in single precision these have whole numbers as results
            intrinsic_ = builder.module.declare_intrinsic(WHOLE[function], [single])
            return from_single(builder, builder.call(intrinsic_, [number]))
        of_single = context.typing_context.resolve_function_type(function, (types.float32,), {})
        found = context.get_function(function, of_single)(builder, [number])
        return context.cast(builder, found, of_single.return_type, HALF)

    first_of_all(function, 1, HALF)


@functools.cache
def install():
    """Teach Numba. Once per process, before the first kernel is compiled."""
    cpu_target.typing_context.refresh()
    for name, compute in {
        "add": ir.IRBuilder.fadd,
        "sub": ir.IRBuilder.fsub,
        "mul": ir.IRBuilder.fmul,
        "truediv": ir.IRBuilder.fdiv,
    }.items():
        of_two(getattr(operator, name), compute, HALF)
        of_two(getattr(operator, f"i{name}"), compute, HALF)
    symbols = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
    for name, symbol in symbols.items():
        of_two(getattr(operator, name), functools.partial(compared, symbol), types.boolean)
    of_one(operator.neg, lambda builder, value: builder.xor(value, i16(0x8000)))
    of_one(operator.pos, lambda builder, value: value)
    of_one(abs, lambda builder, value: builder.and_(value, i16(0x7FFF)))
    for function in MATH_OF_HALVES:
        of_math(function)
    cpu_target.target_context.install_registry(registry)


# ---------------------------------------------------------------- numba.cuda.fp16


@intrinsic
def as_half(typing_context, value):
    """A number in half precision."""

    def generate(context, builder, signature_, arguments):
        return context.cast(builder, arguments[0], signature_.args[0], HALF)

    return signature(HALF, types.unliteral(value)), generate


@intrinsic
def halved(typing_context, value):
    """A number rounded to half precision, as a float32 to compute with."""

    def generate(context, builder, signature_, arguments):
        return to_single(builder, context.cast(builder, arguments[0], signature_.args[0], HALF))

    return signature(types.float32, types.unliteral(value)), generate


def larger(a, b):
    if a != a or b != b:
        return b if a != a else a
    if a == b:  # 0 is larger than -0
        return b if math.copysign(np.float32(1), a) < 0 else a
    return max(a, b)


def smaller(a, b):
    if a != a or b != b:
        return b if a != a else a
    if a == b:
        return a if math.copysign(np.float32(1), a) < 0 else b
    return min(a, b)


def differ(a, b):
    """False where one of the two is no number, as on a GPU."""
    return a < b or a > b


def multiply_add(a, b, c):
    return np.float64(a) * np.float64(b) + np.float64(c)


def to_the_power_of(base):
    return lambda x: math.pow(np.float32(base), x)


NAMES = {"as_half": as_half, "halved": halved}
# Of numbers in single precision, rounded to half precision before and after.
FUNCTIONS = {
    "habs": abs, "hadd": operator.add, "hceil": math.ceil, "hcos": math.cos,
    "hdiv": operator.truediv, "hexp": math.exp, "hexp10": to_the_power_of(10),
    "hexp2": to_the_power_of(2), "hfma": multiply_add, "hlog2": math.log2, "hmax": larger,
    "hmin": smaller, "hrcp": lambda x: np.float32(1) / x, "hrint": np.rint,
    "hrsqrt": lambda x: np.float32(1) / math.sqrt(x), "hfloor": math.floor, "hlog": math.log,
    "hlog10": math.log10, "hmul": operator.mul, "hneg": operator.neg, "hsin": math.sin,
    "hsqrt": math.sqrt, "hsub": operator.sub, "htanh": math.tanh, "htrunc": math.trunc,
}  # fmt: skip
COMPARISONS = {
    "heq": operator.eq, "hge": operator.ge, "hgt": operator.gt, "hle": operator.le,
    "hlt": operator.lt, "hne": differ,
}  # fmt: skip
