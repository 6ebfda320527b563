"""What a lookup takes beyond an edge of a picture is told from its colours."""

import numpy as np
import pytest

from lessons import reference
from lessons.grading.advice.blends import blended, corners_of, other_pixels_beyond

SHAPE = 4, 6, 3


def lookup(padded, uv):
    position = uv * [SHAPE[1], SHAPE[0]] - 0.5
    return position, blended(corners_of(padded, position + 1))


@pytest.mark.parametrize(
    "mode, words",
    [("wrap", "opposite edge"), ("reflect", "mirror"), ("constant", "nothing is"), ("edge", "")],
)
def test_what_counts_beyond_an_edge_is_told(mode, words):
    rng = np.random.default_rng(4)
    texture, uv = rng.random(SHAPE), rng.random((60, 2))
    position, got = lookup(np.pad(texture, ((1, 1), (1, 1), (0, 0)), mode=mode), uv)
    found = other_pixels_beyond(got, texture, position, "cell")
    if not words:
        assert np.allclose(got, reference.bilinear(texture, uv)) and not found
        return
    _, sentence = found["beyond an edge"]
    assert words in sentence and "cell at the edge itself counts" in sentence


def test_a_colour_too_dark_is_no_matter_of_an_edge():
    rng = np.random.default_rng(5)
    texture, uv = rng.random(SHAPE), rng.random((60, 2))
    position, got = lookup(np.pad(texture, ((1, 1), (1, 1), (0, 0)), mode="wrap"), uv)
    assert not other_pixels_beyond(0.9 * got, texture, position, "cell")
