"""The kernels of `kernels/bits/quantise.py`, as loops over all values."""

from numba import float32

from kernels.bits.quantise import level_of, level_value
from kernels.cpu.compile import compiled_cached


@compiled_cached
def quantise(values, bits, quantised):
    for i in range(values.shape[0]):
        quantised[i] = level_value(level_of(values[i], bits), bits)


@compiled_cached
def follow(values, quantised, moved):
    for i in range(values.shape[0]):
        if float32(-1) <= values[i] <= float32(1):
            values[i] += moved[i] - quantised[i]
