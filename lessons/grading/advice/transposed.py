"""Results whose rows and columns are exchanged."""

from lessons.grading.advice.comparison import Comparison
from lessons.grading.advice.unwritten import Diagnosis

SMALLEST_SQUARE = 4  # of a result that is not square: in fewer elements this may be an accident


def transposed(comparison: Comparison) -> Diagnosis | None:
    expected = comparison.expected
    if expected.ndim < 2:
        return None
    # Of a matrix that is not square, the same numbers in the same memory, counted down the columns.
    pattern = expected.swapaxes(0, 1).reshape(expected.shape)
    if not comparison.explains(pattern):
        return transposed_where_both_are(comparison)
    return Diagnosis(
        "transposed",
        "Rows and columns are exchanged: the first index of an array is the row, y.",
    )


def transposed_where_both_are(comparison: Comparison) -> Diagnosis | None:
    """As `transposed`, of what is not square, so far as there is an element [j, i] for [i, j]."""
    height, width = comparison.expected.shape[:2]
    side = min(height, width)
    square = comparison.of(comparison.expected[:side, :side], comparison.got[:side, :side])
    if height == width or side < SMALLEST_SQUARE:
        return None
    if not square.explains(square.expected.swapaxes(0, 1)):
        return None
    return Diagnosis(
        "transposed",
        "Rows and columns are exchanged: element [i, j] is what [j, i] should be, wherever there "
        "are both.",
    )
