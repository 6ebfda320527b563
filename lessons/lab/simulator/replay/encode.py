"""Numbers of a recording as compact JSON."""

import math

import numpy as np

MOST_TEXT = 12  # characters of a value that is no number

Json = object


class Lists:
    """Lists of whole numbers, each kept once. Most are regular: thread i touches element i."""

    def __init__(self) -> None:
        self.encoded: list[Json] = []
        self.numbers: dict[bytes, int] = {}  # bytes of a list -> its place in `encoded`

    def place_of(self, values: np.ndarray) -> int:
        """Where a list stands in `encoded`; it is put there if it is new."""
        values = np.ascontiguousarray(values, np.int64)
        key = values.tobytes()
        if key not in self.numbers:
            self.numbers[key] = len(self.encoded)
            self.encoded.append(encode_whole_numbers(values))
        return self.numbers[key]


def encode_whole_numbers(values: np.ndarray) -> Json:
    """A plain list, or {"runs": [first, step, count, first, step, count, ...]} if that is shorter.

    values: (n,) int.
    """
    plain: list[int] = values.tolist()
    runs: list[int] = []
    begin = 0
    while begin < len(plain) and len(runs) < len(plain):
        step = plain[begin + 1] - plain[begin] if begin + 1 < len(plain) else 0
        end = begin + 1
        while end < len(plain) and plain[end] - plain[end - 1] == step:
            end += 1
        runs += [plain[begin], step, end - begin]
        begin = end
    return {"runs": runs} if len(runs) < len(plain) else plain


def encode_values(values: np.ndarray) -> Json:
    """Values of elements, rounded to four digits; {"same": value, "count": n} if they are equal."""
    plain = [plain_value(value) for value in values.tolist()]
    if len(plain) > 2 and plain.count(plain[0]) == len(plain):
        return {"same": plain[0], "count": len(plain)}
    return plain


def plain_value(value: object) -> Json:
    """A number, or a short text."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return value if abs(value) < 2**53 else f"{value:.3e}"
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        return float(f"{value:.4g}")
    if isinstance(value, complex):
        return f"{value.real:.3g}{value.imag:+.3g}j"
    text = str(value)
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"
