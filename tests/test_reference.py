"""The judge on trial: the reference against published vectors, hand-worked numbers and
central differences. Inputs are non-square, ragged and different in every element, so that
a swapped axis or an index off by one cannot pass."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lessons import reference
from lessons.reference import training as reference_training

SQRT_HALF = np.sqrt(0.5)


def random_problem(hidden, layers, seed=0, batch=24, grid_height=3, grid_width=4):
    """uv (B, 2), feature_grid (GH, GW, 3), flat weights, target (B, 3), all random."""
    rng = np.random.default_rng(seed)
    sizes = [16 * hidden, *[hidden * hidden] * (layers - 1), hidden * 16]
    scales = np.repeat(np.sqrt(2 / np.array([16, *[hidden] * layers])), sizes)
    return (
        rng.random((batch, 2)),
        rng.normal(size=(grid_height, grid_width, 3)),
        rng.normal(size=sum(sizes)) * scales,
        rng.random((batch, 3)),
    )


def loss_of(uv, feature_grid, flat, target, hidden, layers):
    """The loss by the forward pass alone."""
    matrices = reference.split_weights(flat, hidden, layers)
    outputs, _ = reference.mlp_forward(reference.encode(uv, feature_grid), matrices)
    return reference.loss(outputs, target)


def central_difference(function, array, index, width=1e-6):
    """Slope of function(array) along one element: (f(x + w) - f(x - w)) / 2w."""
    above, below = array.copy(), array.copy()
    above[index] += width
    below[index] -= width
    return (function(above) - function(below)) / (2 * width)


# ---- Philox ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "counter, key, expected",
    [
        (
            [0x00000000, 0x00000000, 0x00000000, 0x00000000],
            [0x00000000, 0x00000000],
            [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8],
        ),
        (
            [0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF],
            [0xFFFFFFFF, 0xFFFFFFFF],
            [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD],
        ),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
    ids=["zeros", "ones", "digits of pi"],
)
def test_philox_gives_the_published_answers(counter, key, expected):
    """Random123, tests/kat_vectors, the lines "philox4x32 10"."""
    words = reference.philox4x32(np.array(counter, np.uint32), np.array(key, np.uint32))
    assert words.dtype == np.uint32
    assert_array_equal(words, expected)


def test_philox_scrambles_each_counter_by_itself():
    counters = np.arange(24, dtype=np.uint32).reshape(2, 3, 4)
    key = np.array([5, 6], np.uint32)
    words = reference.philox4x32(counters, key)
    assert words.shape == (2, 3, 4)
    for row in range(2):
        for column in range(3):
            assert_array_equal(words[row, column], reference.philox4x32(counters[row, column], key))


def test_draw_uv_packs_sample_step_and_seed_into_counter_and_key():
    uv = reference.draw_uv(batch=3, step=2**32 * 7 + 9, seed=2**32 * 11 + 13)
    counters = np.array([[0, 9, 7, 0], [1, 9, 7, 0], [2, 9, 7, 0]], np.uint32)
    words = reference.philox4x32(counters, np.array([13, 11], np.uint32))
    assert_array_equal(uv, (words[:, :2] // 256) / 16777216)


def test_draw_uv_is_exact_in_float32_and_inside_the_unit_square():
    uv = reference.draw_uv(batch=4096, step=1, seed=0)
    assert uv.shape == (4096, 2) and uv.dtype == np.float64
    assert_array_equal(uv.astype(np.float32), uv)
    assert_array_equal(uv * 2**24, np.floor(uv * 2**24))
    assert uv.min() >= 0 and uv.max() < 1
    assert (uv * 2**24 % 2).any(), "the lowest of the 24 bits is never set"


def test_draw_uv_is_uniform_in_the_square():
    """Chi-square over 8 x 8 boxes: 63 degrees of freedom, so 110 is passed 2 times in 10,000."""
    count = 65536
    uv = reference.draw_uv(count, step=3, seed=1)
    boxes, _, _ = np.histogram2d(*uv.T, bins=8, range=[[0, 1], [0, 1]])
    expected = count / 64
    chi_square = np.sum((boxes - expected) ** 2 / expected)
    # Too even is as suspicious as too uneven.
    assert 30 < chi_square < 110


def test_draw_uv_differs_between_steps_and_seeds():
    first = reference.draw_uv(1000, step=1, seed=0)
    for step, seed in [(2, 0), (1, 1), (1 + 2**32, 0), (1, 2**32)]:
        assert not np.isin(reference.draw_uv(1000, step, seed), first).all(axis=1).any()


def test_sample_reads_the_image_where_it_drew():
    height, width = 3, 5
    column, row = np.meshgrid(np.arange(width), np.arange(height))
    image = np.stack([column / 8, row / 4, np.full((height, width), 0.25)], axis=-1)
    uv, target = reference.sample(image, step=4, seed=2, batch=200)
    assert_array_equal(uv, reference.draw_uv(200, step=4, seed=2))
    # The image is a plane, so its value between the centres is known without interpolating.
    x = np.clip(uv[:, 0] * width - 0.5, 0, width - 1)
    y = np.clip(uv[:, 1] * height - 0.5, 0, height - 1)
    assert_allclose(target, np.stack([x / 8, y / 4, np.full(200, 0.25)], axis=-1), atol=1e-14)


# ---- Bilinear -------------------------------------------------------------------------------


def numbered_texture(height, width, channels=2):
    """A texture whose every element is different, and not linear in its position."""
    return np.arange(height * width * channels).reshape(height, width, channels) ** 1.5


@pytest.mark.parametrize("height, width", [(1, 1), (2, 3), (3, 2), (1, 4), (5, 7)])
def test_bilinear_at_a_pixel_centre_is_that_pixel(height, width):
    texture = numbered_texture(height, width)
    for row in range(height):
        for column in range(width):
            uv = np.array([[(column + 0.5) / width, (row + 0.5) / height]])
            assert_allclose(reference.bilinear(texture, uv)[0], texture[row, column], rtol=1e-12)


def test_bilinear_halfway_and_three_quarters():
    texture = np.array([[[0.0], [8.0], [100.0]], [[16.0], [40.0], [200.0]]])  # 3 wide, 2 high
    halfway_right = [2 / 6, 0.25]
    halfway_down = [1 / 6, 0.5]
    middle_of_four = [2 / 6, 0.5]
    quarter_right_three_quarters_down = [1.75 / 6 - 1 / 24, 0.625]
    uv = np.array([halfway_right, halfway_down, middle_of_four, quarter_right_three_quarters_down])
    # The last: 0 * 3/16 + 8 * 1/16 + 16 * 9/16 + 40 * 3/16 = 17.
    assert_allclose(reference.bilinear(texture, uv), [[4], [8], [16], [17]], rtol=1e-12)


def test_bilinear_clamps_at_all_four_edges():
    texture = numbered_texture(height=2, width=3)
    last = 1 - 2.0**-24
    uv = np.array([[0, 0], [last, 0], [0, last], [last, last], [0.5, 0], [0, 0.5]])
    expected = [
        texture[0, 0],
        texture[0, 2],
        texture[1, 0],
        texture[1, 2],
        texture[0, 1],
        (texture[0, 0] + texture[1, 0]) / 2,
    ]
    assert_allclose(reference.bilinear(texture, uv), expected, rtol=1e-12, atol=1e-12)


def test_bilinear_corners_are_named_in_order():
    # 0.625 * 4 - 0.5 = 2, exactly on a centre; 0.375 * 2 - 0.5 = 0.25; 0 * n - 0.5 = -0.5.
    uv = np.array([[0.625, 0.375], [0.75, 0.375], [0.0, 0.0]])
    indices, weights, fractions = reference.bilinear_corners(uv, width=4, height=2)
    assert_array_equal(indices, [[2, 3, 6, 7], [2, 3, 6, 7], [0, 0, 0, 0]])
    assert np.issubdtype(indices.dtype, np.integer)
    assert_array_equal(
        weights, [[0.75, 0, 0.25, 0], [0.375, 0.375, 0.125, 0.125], [0.25, 0.25, 0.25, 0.25]]
    )
    # At the edge the corners are clamped, the fraction is not.
    assert_array_equal(fractions, [[0, 0.25], [0.5, 0.25], [0.5, 0.5]])


def test_bilinear_weights_sum_to_one_and_fractions_stay_below_one():
    uv = reference.draw_uv(1000, step=1, seed=5)
    indices, weights, fractions = reference.bilinear_corners(uv, width=7, height=3)
    assert_allclose(weights.sum(axis=1), 1, rtol=1e-14)
    assert weights.min() >= 0
    assert fractions.min() >= 0 and fractions.max() < 1
    assert set(indices.ravel()) == set(range(21))


# ---- Encoding -------------------------------------------------------------------------------


def test_fourier_by_hand():
    uv = np.array([[0.25, 0.625], [0.0, 0.5]])
    expected = [[1, 0, 0, -1, -SQRT_HALF, -SQRT_HALF, 1, 0], [0, 1, 0, 1, 0, -1, 0, 1]]
    assert_allclose(reference.fourier(uv), expected, atol=1e-14)


def test_encode_by_hand():
    # 3 wide, 2 high: u = 0.25 lies at x = 0.25, v = 0.625 at y = 0.75.
    channel = np.array([[16.0, 32.0, 900.0], [48.0, 80.0, 700.0]])
    feature_grid = np.stack([channel, -channel, channel + 1], axis=-1)
    # 16 * 3/16 + 32 * 1/16 + 48 * 9/16 + 80 * 3/16 = 47; sin(turn / 4) = 1, sin(3/4 turn) = -1.
    grid_and_position = [47, -47, 48, 1, -1]
    waves = [1, 0, 0, -1, -SQRT_HALF, -SQRT_HALF, 1, 0]
    features = reference.encode(np.array([[0.25, 0.625]]), feature_grid)
    assert_allclose(features, [[*grid_and_position, *waves, 1, 1, 1]], atol=1e-13)


def test_encode_is_continuous_where_cells_and_the_clamped_edge_begin():
    feature_grid = numbered_texture(height=3, width=4, channels=3)
    borders = np.array([[0.5 / 4, 0.4], [1.5 / 4, 0.4], [3.5 / 4, 0.4], [0.3, 0.5 / 3], [0.3, 0.5]])
    before = reference.encode(borders - 1e-9, feature_grid)
    after = reference.encode(borders + 1e-9, feature_grid)
    assert_allclose(before, after, atol=1e-6)


# ---- The multilayer perceptron --------------------------------------------------------------


def test_split_weights_is_row_major_and_in_order():
    flat = np.arange(16 * 32 + 32 * 32 + 32 * 16, dtype=np.float32)
    first, second, last = reference.split_weights(flat, hidden=32, layers=2)
    assert first.shape == (16, 32) and second.shape == (32, 32) and last.shape == (32, 16)
    # Row i starts i * fan_out into its own matrix.
    assert (first[0, 1], first[1, 0]) == (1, 32)
    assert (second[0, 0], second[1, 0]) == (512, 544)
    assert (last[0, 0], last[1, 0], last[-1, -1]) == (1536, 1552, 2047)
    assert first.dtype == np.float64


def test_split_weights_explains_a_vector_of_the_wrong_length():
    with pytest.raises(ValueError, match="2 hidden layers of 32 has 2048 weights"):
        reference.split_weights(np.zeros(2047), hidden=32, layers=2)


def test_mlp_forward_by_hand():
    """Two inputs are summed, one hidden unit's ReLU gives zero, and the output is a sigmoid."""
    flat = np.zeros(16 * 3 + 3 * 16)
    first, last = reference.split_weights(flat, hidden=3, layers=1)
    first[0] = [1.0, 2.0, -1.0]
    first[15] = [0.5, 0.0, 0.0]
    last[:, 0] = [1.0, -2.0, 50.0]
    last[0, 15] = -1.0
    features = np.zeros((1, 16))
    features[0, [0, 15]] = [2.0, 4.0]
    outputs, activations = reference.mlp_forward(features, [first, last])
    assert_array_equal(activations[0], features)
    assert_array_equal(activations[1], [[4.0, 4.0, 0.0]])
    assert len(activations) == 2
    # The sigmoid of 1 * 4 - 2 * 4 = -4, of nothing, and of -1 * 4.
    expected = np.full((1, 16), 0.5)
    expected[0, [0, 15]] = 1 / (1 + np.exp(4))
    assert_allclose(outputs, expected, rtol=1e-12)


@pytest.mark.parametrize("layers", [1, 2, 3, 4])
def test_mlp_forward_keeps_the_input_of_every_matrix(layers):
    uv, feature_grid, flat, _ = random_problem(hidden=16, layers=layers)
    matrices = reference.split_weights(flat, 16, layers)
    features = reference.encode(uv, feature_grid)
    outputs, activations = reference.mlp_forward(features, matrices)
    assert len(activations) == layers + 1
    for activation, matrix, result in zip(activations, matrices, activations[1:], strict=False):
        assert_array_equal(result, np.where(activation @ matrix > 0, activation @ matrix, 0))
    assert_allclose(np.log(outputs / (1 - outputs)), activations[-1] @ matrices[-1], atol=1e-10)


def test_sigmoid_survives_large_arguments():
    with np.errstate(all="raise"):
        assert_allclose(reference.sigmoid(np.array([-1e4, 0, 1e4])), [0, 0.5, 1])


# ---- Loss and gradients ---------------------------------------------------------------------


def test_loss_is_the_mean_over_samples_and_colours_without_the_padding():
    rgb16 = np.full((2, 16), 1000.0)
    rgb16[:, :3] = [[0.5, 0.25, 1.0], [0.0, 0.0, 0.0]]
    target = np.array([[0.0, 0.25, 0.0], [1.0, 0.0, 0.5]])
    # (1/4 + 0 + 1 + 1 + 0 + 1/4) / 6
    assert reference.loss(rgb16, target) == pytest.approx(2.5 / 6)


@pytest.mark.parametrize("hidden", [16, 32])
@pytest.mark.parametrize("layers", [1, 2, 3, 4])
def test_weight_and_grid_gradients_match_central_differences(hidden, layers):
    uv, feature_grid, flat, target = random_problem(hidden, layers, seed=layers)

    def loss_of_weights(flat):
        return loss_of(uv, feature_grid, flat, target, hidden, layers)

    def loss_of_grid(feature_grid):
        return loss_of(uv, feature_grid, flat, target, hidden, layers)

    gradients = reference.backward(
        uv, feature_grid, reference.split_weights(flat, hidden, layers), target
    )
    assert gradients.loss == loss_of_weights(flat)
    assert gradients.grad_weights.shape == flat.shape
    assert gradients.grad_feature_grid.shape == feature_grid.shape

    some = np.random.default_rng(9).choice(flat.size, 60, replace=False)
    expected = [central_difference(loss_of_weights, flat, index) for index in some]
    assert_allclose(gradients.grad_weights[some], expected, rtol=1e-5, atol=1e-9)

    cells = list(np.ndindex(feature_grid.shape))
    expected = [central_difference(loss_of_grid, feature_grid, index) for index in cells]
    assert_allclose(gradients.grad_feature_grid.ravel(), expected, rtol=1e-5, atol=1e-9)


def test_every_weight_gradient_of_a_tiny_net_matches_central_differences():
    uv, feature_grid, flat, target = random_problem(hidden=3, layers=2, seed=11)

    def loss_of_weights(flat):
        return loss_of(uv, feature_grid, flat, target, hidden=3, layers=2)

    grad_weights = reference.backward(
        uv, feature_grid, reference.split_weights(flat, 3, 2), target
    ).grad_weights
    expected = [central_difference(loss_of_weights, flat, index) for index in range(flat.size)]
    assert_allclose(grad_weights, expected, rtol=1e-5, atol=1e-9)
    # The padded features are three times the same bias; the padded outputs take no part.
    first, _, last = reference.split_weights(grad_weights, 3, 2)
    assert first[13].any() and (first[13:] == first[13]).all() and not last[:, 3:].any()
    assert first[:13].all(axis=1).any() and last[:, :3].any()


def test_gradients_between_the_stages_match_central_differences():
    uv, feature_grid, flat, target = random_problem(hidden=16, layers=2, batch=5)
    matrices = reference.split_weights(flat, 16, 2)
    features = reference.encode(uv, feature_grid)
    outputs, _ = reference.mlp_forward(features, matrices)
    preactivation = np.log(outputs / (1 - outputs))
    gradients = reference.backward(uv, feature_grid, matrices, target)

    def loss_of_features(features):
        return reference.loss(reference.mlp_forward(features, matrices)[0], target)

    def loss_of_preactivation(preactivation):
        return reference.loss(1 / (1 + np.exp(-preactivation)), target)

    elements = list(np.ndindex(5, 16))
    expected = [central_difference(loss_of_features, features, index) for index in elements]
    assert_allclose(gradients.grad_features.ravel(), expected, rtol=1e-5, atol=1e-9)
    expected = [
        central_difference(loss_of_preactivation, preactivation, index) for index in elements
    ]
    assert_allclose(gradients.grad_output_preactivation.ravel(), expected, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("grid_height, grid_width", [(1, 1), (2, 3), (5, 2)])
def test_each_sample_hands_its_whole_gradient_to_the_grid(grid_height, grid_width):
    """Also in the corners, where all four neighbours are one and the same cell."""
    uv, feature_grid, flat, target = random_problem(
        hidden=16, layers=1, grid_height=grid_height, grid_width=grid_width
    )
    uv[0] = 0
    matrices = reference.split_weights(flat, 16, 1)
    gradients = reference.backward(uv, feature_grid, matrices, target)
    assert_allclose(
        gradients.grad_feature_grid.sum(axis=(0, 1)),
        gradients.grad_features[:, :3].sum(axis=0),
        rtol=1e-12,
    )
    alone = reference.backward(uv[:1], feature_grid, matrices, target[:1])
    assert_allclose(alone.grad_feature_grid[0, 0], alone.grad_features[0, :3], rtol=1e-12)
    assert np.count_nonzero(alone.grad_feature_grid) == 3


# ---- Adam -----------------------------------------------------------------------------------


def test_adam_takes_two_steps_by_hand():
    settings = dict(learning_rate=0.1, beta1=0.5, beta2=0.75, epsilon=1.0)
    parameter, m, v = reference.adam(
        np.array([1.0]), np.array([2.0]), np.zeros(1), np.zeros(1), step=1, **settings
    )
    # m = 1, v = 1; corrected 1 / 0.5 = 2 and 1 / 0.25 = 4; moved by 0.1 * 2 / (sqrt(4) + 1).
    assert_allclose([parameter[0], m[0], v[0]], [1 - 0.2 / 3, 1, 1], rtol=1e-14)

    parameter, m, v = reference.adam(parameter, np.array([4.0]), m, v, step=2, **settings)
    # m = 0.5 + 2, v = 0.75 + 4; corrected 2.5 / 0.75 = 10 / 3 and 4.75 / 0.4375 = 76 / 7.
    moved = 0.1 * (10 / 3) / (np.sqrt(76 / 7) + 1)
    assert_allclose([parameter[0], m[0], v[0]], [1 - 0.2 / 3 - moved, 2.5, 4.75], rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_adam_leaves_its_inputs_alone_and_computes_in_float64(dtype):
    rng = np.random.default_rng(1)
    inputs = [rng.random((2, 3), dtype) for _ in range(4)]
    copies = [array.copy() for array in inputs]
    results = reference.adam(*inputs, 3, 1e-3, 0.9, 0.99, 1e-8)
    assert all(result.dtype == np.float64 for result in results)
    for array, copy in zip(inputs, copies, strict=True):
        assert_array_equal(array, copy)


def test_adam_grid_counts_the_steps_of_each_cell():
    """A cell moves as if the batches that missed it had never been."""
    settings = dict(learning_rate=0.1, beta1=0.9, beta2=0.99, epsilon=1e-8)
    rng = np.random.default_rng(2)
    start = rng.normal(size=(2, 3, 3))
    grad_first, grad_third = rng.normal(size=(2, 3))

    grid, m, v, steps = start, np.zeros((2, 3, 3)), np.zeros((2, 3, 3)), np.zeros((2, 3), int)
    for number in range(1, 4):
        grad = np.zeros((2, 3, 3))
        grad[0, 1] = {1: grad_first, 2: 0, 3: grad_third}[number]
        grad[1, 2] = 1.0
        grid, m, v, steps = reference.adam_grid(grid, grad, m, v, steps, **settings)

    assert_array_equal(steps, [[0, 2, 0], [0, 0, 3]])
    expected = reference.adam(start[0, 1], grad_first, np.zeros(3), np.zeros(3), 1, **settings)
    expected = reference.adam(expected[0], grad_third, *expected[1:], 2, **settings)
    assert_allclose([grid[0, 1], m[0, 1], v[0, 1]], expected, rtol=1e-14)


def test_adam_grid_moves_all_three_channels_of_a_touched_cell_and_no_other_cell():
    rng = np.random.default_rng(3)
    grid, m, v = rng.normal(size=(2, 3, 3)), rng.random((2, 3, 3)), rng.random((2, 3, 3))
    steps = np.array([[4, 5, 6], [7, 8, 9]])
    before = [array.copy() for array in (grid, m, v, steps)]
    grad = np.zeros((2, 3, 3))
    grad[1, 0, 2] = -1e-30  # one channel, and however little, touches the cell
    after = reference.adam_grid(grid, grad, m, v, steps, 0.1, 0.9, 0.99, 1e-8)

    for given, copy in zip((grid, m, v, steps), before, strict=True):
        assert_array_equal(given, copy)
    for old, new in zip(before, after, strict=True):
        changed = (old != new).reshape(2, 3, -1)
        assert changed[1, 0].all()
        changed[1, 0] = False
        assert not changed.any()
    assert after[3][1, 0] == 8


# ---- Images ---------------------------------------------------------------------------------


def test_grayscale_weighs_the_primaries_as_rec_709():
    image = np.array([[[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[1, 1, 1], [0.5, 0, 0], [0, 0, 0]]])
    gray = reference.grayscale(image)
    assert_allclose(gray, [[0.2126, 0.7152, 0.0722], [1, 0.1063, 0]], atol=1e-15)


@pytest.mark.parametrize(
    "line, expected",
    [
        ([1, 2, 4, 8], [1.5, 6]),
        # Three pixels onto two: each takes one whole pixel and half of the middle one.
        ([1, 2, 4], [4 / 3, 10 / 3]),
        # Five onto three, each 5/3 wide: 1 + 2/3; 1/3 + 1 + 1/3; 2/3 + 1.
        ([3, 6, 12, 24, 48], [(3 + 4) * 3 / 5, (2 + 12 + 8) * 3 / 5, (16 + 48) * 3 / 5]),
        ([7, 9], [7, 9]),
        ([5], [5]),
    ],
)
def test_area_downsample_of_a_line_by_hand(line, expected):
    row = np.array(line, np.float64)[np.newaxis, :, np.newaxis]
    width = len(expected)
    assert_allclose(reference.area_downsample(row, width, 1)[0, :, 0], expected, rtol=1e-14)
    column = row.transpose(1, 0, 2)
    assert_allclose(reference.area_downsample(column, 1, width)[:, 0, 0], expected, rtol=1e-14)


def test_area_downsample_of_a_non_square_image_by_hand():
    """3 high and 4 wide onto 2 high and 3 wide, boxes of 4/3 by 3/2 pixels."""
    image = np.array([[12.0, 24, 48, 96], [1, 2, 4, 8], [0, 0, 36, 0]])[:, :, np.newaxis]
    # Rows first, (a + b / 2) * 2/3: [25, 50, 100, 200] / 3 and [1, 2, 76, 8] / 3,
    # then columns, (a + b / 3) * 3/4: a + b / 3, (2 b + 2 c) / 3, c / 3 + d.
    expected = [
        [(25 + 50 / 3) / 4, (50 + 100) / 6, (100 / 3 + 200) / 4],
        [(1 + 2 / 3) / 4, (2 + 76) / 6, (76 / 3 + 8) / 4],
    ]
    assert_allclose(reference.area_downsample(image, 3, 2)[:, :, 0], expected, rtol=1e-14)


@pytest.mark.parametrize("width, height", [(1, 1), (3, 2), (5, 7), (11, 6)])
def test_area_downsample_preserves_the_mean(width, height):
    image = np.random.default_rng(4).random((7, 11, 3))
    small = reference.area_downsample(image, width, height)
    assert small.shape == (height, width, 3)
    assert_allclose(small.mean(axis=(0, 1)), image.mean(axis=(0, 1)), rtol=1e-13)


def test_pixel_centres_run_row_by_row():
    top = [[1 / 6, 1 / 4], [3 / 6, 1 / 4], [5 / 6, 1 / 4]]
    bottom = [[1 / 6, 3 / 4], [3 / 6, 3 / 4], [5 / 6, 3 / 4]]
    assert_allclose(reference.pixel_centres(width=3, height=2), top + bottom, rtol=1e-15)


def test_bilinear_upsample_by_hand():
    image = np.array([[[0.0], [1.0]]])  # 2 wide, 1 high
    large = reference.bilinear_upsample(image, width=4, height=3)
    assert_allclose(large[:, :, 0], [[0, 0.25, 0.75, 1]] * 3, atol=1e-15)


@pytest.mark.parametrize("height, width", [(1, 1), (2, 3)])
def test_resizing_to_the_same_size_changes_nothing(height, width):
    image = numbered_texture(height, width, channels=3)
    assert_allclose(reference.bilinear_upsample(image, width, height), image, rtol=1e-12)
    assert_allclose(reference.area_downsample(image, width, height), image, rtol=1e-12)


def test_psnr_of_a_known_error():
    image = np.zeros((2, 3, 3), np.float32)
    assert reference.psnr(image, image + 0.1) == pytest.approx(20)
    half_wrong = image.copy()
    half_wrong[0] = 0.1
    assert reference.psnr(image, half_wrong) == pytest.approx(20 + 10 * np.log10(2))
    assert reference.psnr(image, image) == np.inf


def test_baseline_psnr_by_hand():
    # Each row 0 0 1 1 becomes 0 1, and then 0, 1/4, 3/4, 1: wrong by 1/4 at two in four.
    image = np.zeros((3, 4, 3))
    image[:, 2:] = 1
    assert reference.baseline_psnr(image, 2, 1) == pytest.approx(-10 * np.log10(1 / 32))
    # With one column nothing is left but the mean: wrong by 1/2 everywhere.
    assert reference.baseline_psnr(image, 1, 2) == pytest.approx(-10 * np.log10(1 / 4))


def test_render_is_the_field_at_each_pixel_centre():
    _, feature_grid, flat, _ = random_problem(hidden=16, layers=2)
    matrices = reference.split_weights(flat, 16, 2)
    picture = reference.render(feature_grid, matrices, width=5, height=2)
    assert picture.shape == (2, 5, 3)
    for row in range(2):
        for column in range(5):
            centre = np.array([[(column + 0.5) / 5, (row + 0.5) / 2]])
            outputs, _ = reference.mlp_forward(reference.encode(centre, feature_grid), matrices)
            assert_allclose(picture[row, column], outputs[0, :3], rtol=1e-12)


# ---- Training -------------------------------------------------------------------------------


SETTINGS = dict(
    hidden=16,
    layers=2,
    weight_learning_rate=1e-2,
    grid_learning_rate=3e-2,
    beta1=0.9,
    beta2=0.99,
    epsilon=1e-8,
)


def tiny_image():
    """Smooth, 7 wide and 5 high, with no symmetry between its axes or its colours."""
    x, y = np.meshgrid(np.linspace(0, 1, 7), np.linspace(0, 1, 5))
    return np.stack([x * y, 0.2 + 0.6 * x**2, 0.9 - 0.7 * y], axis=-1)


def quality(feature_grid, weights):
    matrices = reference.split_weights(weights, 16, 2)
    return reference.psnr(reference.render(feature_grid, matrices, 7, 5), tiny_image())


@pytest.mark.slow
def test_training_converges_on_a_tiny_image():
    _, feature_grid, flat, _ = random_problem(hidden=16, layers=2)
    losses, feature_grid, flat = reference_training.train(
        tiny_image(), feature_grid, flat, steps=300, seed=1, batch=128, **SETTINGS
    )
    assert losses.shape == (300,)
    assert losses[-10:].mean() < losses[:10].mean() / 100
    assert quality(feature_grid, flat) > 32


@pytest.mark.parametrize("frozen", ["weight_learning_rate", "grid_learning_rate"])
def test_weights_and_grid_each_learn_while_the_other_is_frozen(frozen):
    _, old_grid, old_flat, _ = random_problem(hidden=16, layers=2)
    _, new_grid, new_flat = reference_training.train(
        tiny_image(), old_grid, old_flat, steps=150, seed=1, batch=128, **{**SETTINGS, frozen: 0.0}
    )
    assert (new_flat != old_flat).any() == (frozen != "weight_learning_rate")
    assert (new_grid != old_grid).any() == (frozen != "grid_learning_rate")
    assert quality(new_grid, new_flat) > quality(old_grid, old_flat) + 2


def test_the_first_step_is_step_one_and_reports_the_loss_before_it():
    _, feature_grid, flat, _ = random_problem(hidden=16, layers=2)
    matrices = reference.split_weights(flat, 16, 2)
    uv, target = reference.sample(tiny_image(), step=1, seed=8, batch=10)
    gradients = reference.backward(uv, feature_grid, matrices, target)
    losses, _, new_flat = reference_training.train(
        tiny_image(), feature_grid, flat, steps=1, seed=8, batch=10, **SETTINGS
    )
    assert losses[0] == gradients.loss
    # Adam's first step, its bias corrected, is the learning rate against the gradient's sign.
    moved = np.abs(gradients.grad_weights) > 1e-4
    assert moved.sum() > 100
    assert_allclose(
        (new_flat - flat)[moved], -1e-2 * np.sign(gradients.grad_weights[moved]), rtol=1e-3
    )


def test_the_second_step_is_the_stages_in_order():
    """Everything the first step left behind reaches the second one, and in the right place."""
    _, feature_grid, flat, _ = random_problem(hidden=16, layers=2)
    state = reference_training.initial_state(feature_grid, flat)
    _, first = reference_training.train_step(tiny_image(), state, 8, 10, **SETTINGS)
    _, second = reference_training.train_step(tiny_image(), first, 8, 10, **SETTINGS)

    uv, target = reference.sample(tiny_image(), step=2, seed=8, batch=10)
    matrices = reference.split_weights(first.weights, 16, 2)
    gradients = reference.backward(uv, first.feature_grid, matrices, target)
    weights = reference.adam(
        first.weights,
        gradients.grad_weights,
        first.weights_m,
        first.weights_v,
        2,
        1e-2,
        0.9,
        0.99,
        1e-8,
    )
    grid = reference.adam_grid(
        first.feature_grid,
        gradients.grad_feature_grid,
        first.feature_grid_m,
        first.feature_grid_v,
        first.feature_grid_steps,
        3e-2,
        0.9,
        0.99,
        1e-8,
    )
    assert second.step == 2
    for array, expected in zip(second[1:], [*weights, *grid], strict=True):
        assert array.any()
        assert_array_equal(array, expected)


def test_a_resumed_run_repeats_the_uninterrupted_one():
    _, feature_grid, flat, _ = random_problem(hidden=16, layers=2)
    losses, final_grid, final_flat = reference_training.train(
        tiny_image(), feature_grid, flat, steps=6, seed=3, batch=32, **SETTINGS
    )
    state = reference_training.initial_state(feature_grid, flat)
    for expected in losses:
        before, state = reference_training.train_step(tiny_image(), state, 3, 32, **SETTINGS)
        assert before == expected
    assert state.step == 6
    assert state.feature_grid_steps.max() == 6
    assert_array_equal(state.feature_grid, final_grid)
    assert_array_equal(state.weights, final_flat)
    assert len(set(losses)) == 6


def test_float32_inputs_lose_nothing_on_the_way():
    """Each function gives for float32 inputs exactly what it gives for their float64 copies."""
    uv, feature_grid, flat, target = (
        array.astype(np.float32) for array in random_problem(hidden=16, layers=2)
    )

    def results(uv, feature_grid, flat, target):
        matrices = reference.split_weights(flat, 16, 2)
        features = reference.encode(uv, feature_grid)
        outputs, _ = reference.mlp_forward(features, matrices)
        return [
            features,
            outputs,
            reference.render(feature_grid, matrices, 3, 2),
            *reference.mlp_forward(target[:, [0] * 16], matrices)[1],
            *reference.backward(uv, feature_grid, matrices, target),
            *reference.adam(flat, flat, flat, np.abs(flat), 3, 1e-3, 0.9, 0.99, 1e-8),
            reference.loss(target[1:], target[:-1]),
            reference.psnr(target[1:], target[:-1]),
            reference.grayscale(feature_grid),
            reference.area_downsample(feature_grid, 3, 2),
            reference.baseline_psnr(feature_grid, 3, 2),
        ]

    single = results(uv, feature_grid, flat, target)
    double = results(*(np.float64(array) for array in (uv, feature_grid, flat, target)))
    for one, other in zip(single, double, strict=True):
        assert np.asarray(one).dtype == np.float64
        assert_array_equal(one, other)
