"""bfloat16, which NumPy has not: numbers of 8 significant bits with the exponents of a float32."""

import numpy as np

from .numba_types import FLOAT64, Number, convert


class BFloat16:
    """Numbers in bfloat16, the same in all threads or one per thread. number: float32, exact."""

    def __init__(self, number: Number) -> None:
        self.number = number


ROUNDINGS: dict[str, np.ufunc] = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}
SIGNIFICANT_BITS = 8
SMALLEST_EXPONENT = -125  # of a normal number, as `frexp` counts
TOO_LARGE = 2.0**128
LARGEST = 2.0**128 - 2.0**120
NAN = np.array(0x7FFF0000, np.uint32).view(np.float32)[()]  # the one that arithmetic makes
CUT_BITS = 11  # of a whole number of 64 bits, to leave as many as a double has


def is_bfloat16(dtype: np.dtype) -> bool:
    """Whether it is that of the package ml_dtypes, which arrays of bfloat16 can have."""
    return dtype.kind == "V" and dtype.name == "bfloat16"


def scalar_of_ml_dtypes(value: object) -> BFloat16 | None:
    """A single number of that package; None for all other values."""
    if isinstance(value, np.generic) and is_bfloat16(value.dtype):
        return BFloat16(value.astype(np.float32))
    return None


def rounded(value: Number, rounding: str = "rn") -> BFloat16:
    """The nearest bfloat16, of two the even one; or the next one in another direction."""
    exact, direction = as_double(value), ROUNDINGS[rounding]
    _, exponent = np.frexp(exact)
    last_bit = np.maximum(exponent, SMALLEST_EXPONENT) - SIGNIFICANT_BITS
    result = np.ldexp(direction(np.ldexp(exact, -last_bit)), last_bit)
    away_from_zero = direction(np.copysign(0.75, exact)) != 0
    beyond = np.copysign(np.where(away_from_zero, np.inf, LARGEST), exact)
    overflows = np.isfinite(exact) & (np.abs(result) >= TOO_LARGE)
    result = np.where(overflows, beyond, result).astype(np.float32)
    return BFloat16(np.where(np.isnan(exact), NAN, result)[()])


def as_double(value: Number) -> Number:
    """A number in double precision; a large whole one is cut off so that it still rounds right."""
    if value.dtype.kind in "iu" and value.dtype.itemsize == 8:
        cut = np.left_shift(np.right_shift(value, CUT_BITS), CUT_BITS)
        odd = cut | np.where(cut != value, 1 << CUT_BITS, 0).astype(value.dtype)
        value = np.where(np.abs(value.astype(FLOAT64)) < 2.0**53, value, odd)[()]
    return convert(value, FLOAT64)


def to_whole(value: BFloat16, dtype: np.dtype, rounding: str) -> Number:
    """The whole number, or the last one of the type in its direction."""
    whole = ROUNDINGS[rounding](as_double(value.number))
    lowest, highest = np.iinfo(dtype).min, np.iinfo(dtype).max
    limit = float(highest) + 1  # a power of two
    inside = np.where((whole >= lowest) & (whole < limit), whole, 0).astype(dtype)
    of_nan = np.uint64(1 << 63 if dtype.itemsize == 8 else 0)
    cases = [whole >= limit, whole < lowest, np.isnan(whole)]
    results = [dtype.type(highest), dtype.type(lowest), of_nan.astype(dtype)]
    return np.select(cases, results, inside)[()]


def bits_of(value: BFloat16, dtype: np.dtype) -> Number:
    """Its 16 bits. dtype: int16 or uint16."""
    words = np.asarray(value.number).view(np.uint32) >> 16
    return words.astype(np.uint16).view(dtype)[()]


def of_bits(bits: Number) -> BFloat16:
    words = np.asarray(bits).view(np.uint16).astype(np.uint32) << 16
    return BFloat16(words.view(np.float32)[()])
