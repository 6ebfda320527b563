"""The kernels of part two on more elements than an int32 can count.

As in `tests/mutants/large.py`, arrays are one element that is stretched. Of each launch only the
last block runs: so nobody else touches that element, and its value can be checked. The kernels of
part one are tested there, with their mutants.
"""

from functools import partial

import numpy as np
import pytest

from kernels.classifier import gelu, sgd
from kernels.general import layers as general
from kernels.products import tiles
from kernels.reductions import columns, contrast
from kernels.siren import layers as siren
from kernels.siren import positions
from kernels.transfers import block_shapes
from lessons.reference import classifier as reference_classifier
from tests.mutants.large import COUNT, SIDES, launch_last_block, stretched


def number(value, *shape):
    """An array whose elements all have this value, to be stretched."""
    return np.full(shape or (1,), value, np.float32)


def gradient_descent(launch):
    parameters = number(5)
    sgd.launch_sgd(stretched(parameters, COUNT), stretched(number(2), COUNT), 0.5, launch=launch)
    return parameters, 4


def stretched_contrast(launch):
    result, levels = number(0), np.array([0, 255], np.int32)
    colours = stretched(number(0.25), COUNT)
    contrast.launch_stretch(colours, levels, 256, stretched(result, COUNT), launch=launch)
    return result, 0.25


def bias_and_gelu(launch):
    hidden = number(0, 1, 1)
    sums, bias = stretched(number(2, 1, 1), *SIDES), stretched(number(1), SIDES[1])
    gelu.launch_bias_gelu(sums, bias, stretched(hidden, *SIDES), launch=launch)
    return hidden, reference_classifier.gelu(3.0)


def sums_of_columns(launch):
    sums = number(0, 3)
    gradient = stretched(number(2, 1, 3), COUNT, 3)
    columns.launch_column_sums_by_threads(gradient, sums, launch=launch)
    return sums, 2


def smaller_picture(launch):
    small = number(0, 1, 1)
    image = stretched(number(0.5, 1, 1), 2 * SIDES[0], 2 * SIDES[1])
    block_shapes.launch_shrink(image, stretched(small, *SIDES), 2, (16, 16), launch=launch)
    return small, 0.5


def tinted_picture(launch):
    tinted = number(0, 1, 1, 3)
    image = stretched(number(0.25, 1, 1, 3), *SIDES, 3)
    block_shapes.launch_tint(image, number(2, 3), stretched(tinted, *SIDES, 3), launch=launch)
    return tinted, 0.5


def product(launch):
    c = number(0, 1, 1)
    a, b = stretched(number(2, 1, 2), SIDES[0], 2), stretched(number(3, 2, 1), 2, SIDES[1])
    tiles.launch_product_registers(a, b, stretched(c, *SIDES), launch=launch)
    return c, 12


def general_layer(launch):
    workspace = number(0, 2, 1, 1)
    general.launch_over(
        general.hidden_layer, COUNT, stretched(number(0.5, 1, 2), COUNT, 2), 2, number(1, 3), 0, 1,
        True, 0, stretched(workspace, 2, COUNT, 1), 0, 1, launch=launch,
    )  # fmt: skip
    return workspace.ravel(), [2, 1]


def last_position(launch):
    found = number(0, 1, 2)
    side = 1 << 16
    positions.launch_pixel_positions(
        side * side - COUNT, side, side, stretched(found, COUNT, 2), launch=launch
    )
    return found, 1 - 1 / side


RUNS = (
    gradient_descent, stretched_contrast, bias_and_gelu, sums_of_columns, smaller_picture,
    tinted_picture, product, general_layer, last_position,
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
def test_the_last_element_beyond_2_31_is_right(run):
    reports = []
    found, expected = run(partial(launch_last_block, reports))
    assert [finding.kind for report in reports for finding in report.problems] == []
    np.testing.assert_allclose(found, np.broadcast_to(expected, found.shape), rtol=3e-6)


@pytest.mark.slow
def test_more_blocks_along_y_than_a_gpu_takes_are_found():
    reports, samples = [], 65_535 * 32 + 1
    outputs = [stretched(number(0, 1, 1), samples, 1) for _ in range(2)]
    inputs = stretched(number(0.5, 1, 2), samples, 2)
    launch = partial(launch_last_block, reports)
    siren.launch_sine_layer(inputs, number(1, 2, 1), number(0), 1, *outputs, launch=launch)
    assert [finding.kind for finding in reports[0].problems] == ["limits"]
