"""What is said of a lookup that blends other pixels, or with other weights."""

import numpy as np
import pytest

from lessons import reference
from lessons.grading.advice.blends import at_another_point, corners_of, other_blends, positions_in


@pytest.fixture
def lookup():
    random = np.random.default_rng(3)
    texture, uv = random.random((5, 7, 3)), random.random((40, 2))
    return texture, uv, positions_in(texture, uv)


def test_the_right_blend_is_no_mistake(lookup):
    texture, uv, positions = lookup
    assert other_blends(reference.bilinear(texture, uv), texture, positions) == {}


def test_a_blend_of_the_upper_row_is_told(lookup):
    texture, _, positions = lookup
    corners = corners_of(texture, positions["u * width - 0.5"])
    left, right, _, _ = corners.pixels
    got = left + corners.x[:, None] * (right - left)
    ((result, sentence),) = other_blends(got, texture, positions).values()
    assert np.array_equal(result, got) and "weighed with 1 - x, x, 0 and 0," in sentence


def test_a_forgotten_half_is_told(lookup):
    texture, uv, positions = lookup
    got = reference.bilinear(texture, uv + np.array([0.5 / 7, 0.5 / 5]))
    ((_, sentence),) = other_blends(got, texture, positions).values()
    assert "looked for at u * width, and along y" in sentence


def test_other_colours_are_no_blend(lookup):
    texture, _, positions = lookup
    assert other_blends(np.random.default_rng(4).random((40, 3)), texture, positions) == {}


def test_of_a_single_pixel_no_weights_are_told():
    texture, uv = np.full((1, 1, 3), 0.5), np.random.default_rng(5).random((9, 2))
    assert other_blends(np.full((9, 3), 0.25), texture, positions_in(texture, uv)) == {}


def test_another_point_is_told_with_what_is_taken_for_u_and_v(lookup):
    texture, uv, _ = lookup
    got = reference.bilinear(texture, np.stack([uv[:, 0], 1 - uv[:, 1]], axis=1))
    ((_, sentence),) = at_another_point(got, texture, uv, "image", "pixel").values()
    assert sentence.startswith("The image is asked at (u, 1 - v)") and "v down" in sentence
    got = reference.bilinear(texture, uv + np.array([0.5 / 7, 0]))
    ((_, sentence),) = at_another_point(got, texture, uv, "image", "pixel").values()
    assert "asked at (u and half a pixel, v), and" in sentence and "v down" not in sentence
    right = reference.bilinear(texture, uv)
    assert at_another_point(right, texture, uv, "image", "pixel") == {}
