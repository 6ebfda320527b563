"""Every stage of the trainer in plain float64 NumPy, written from the equations.

This decides what is right: a kernel is correct when it agrees with the matching function here.
So nothing is imported from `kernels/`, nothing is fast, and every formula names its source.
Inputs may be float32; results are float64. The letters in the shape tags:

    B  samples in a batch         H, W      image height and width, in pixels
    C  channels                   GH, GW    feature grid height and width, in cells

Coordinates: u runs right, v runs down, both in [0, 1); images and grids are stored row first.
"""

import itertools
from typing import NamedTuple

import numpy as np

FEATURES = 16  # width of the MLP's input
OUTPUTS = 16  # width of its output: red, green, blue, and 13 columns of padding


# ---- Random coordinates ---------------------------------------------------------------------


WORD_BITS = np.uint64(32)
WORD_MASK = np.uint64(0xFFFFFFFF)
PHILOX_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
PHILOX_KEY_STEPS = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)  # golden ratio, sqrt(3) - 1
PHILOX_ROUNDS = 10


def philox4x32(counter, key):
    """Scramble counters into random words with Philox4x32-10.

    Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3 (SC11, 2011);
    the constants are those of the authors' library, Random123.

    counter: uint32 (..., 4); key: uint32 (2,). Returns uint32 (..., 4).
    """
    # Words are held in uint64, so that the product of two words has room for its high half.
    word0, word1, word2, word3 = np.moveaxis(np.asarray(counter, np.uint64), -1, 0)
    key0, key1 = np.asarray(key, np.uint64)
    for _ in range(PHILOX_ROUNDS):
        product0 = PHILOX_MULTIPLIERS[0] * word0
        product2 = PHILOX_MULTIPLIERS[1] * word2
        word0, word1, word2, word3 = (
            (product2 >> WORD_BITS) ^ word1 ^ key0,
            product2 & WORD_MASK,
            (product0 >> WORD_BITS) ^ word3 ^ key1,
            product0 & WORD_MASK,
        )
        key0 = (key0 + PHILOX_KEY_STEPS[0]) & WORD_MASK
        key1 = (key1 + PHILOX_KEY_STEPS[1]) & WORD_MASK
    return np.stack([word0, word1, word2, word3], axis=-1).astype(np.uint32)


def draw_uv(batch, step, seed):
    """Draw the coordinates of one step: (B, 2) in [0, 1), exact multiples of 2^-24.

    A pure function of (sample, step, seed): the same call always draws the same batch.
    """
    counter = np.zeros((batch, 4), np.uint32)
    counter[:, 0] = np.arange(batch)
    counter[:, 1] = step % 2**32
    counter[:, 2] = step // 2**32
    words = philox4x32(counter, (seed % 2**32, seed // 2**32))  # (B, 4)
    # 24 bits are what a float32 holds exactly, so float32 code can draw the same values.
    return (words[:, :2] >> 8) * 2.0**-24


def sample(image, step, seed, batch):
    """Draw one step's batch: uv (B, 2), and the image's colours there, target (B, 3)."""
    uv = draw_uv(batch, step, seed)
    return uv, bilinear(image, uv)


# ---- Bilinear lookup ------------------------------------------------------------------------


def bilinear_corners(uv, width, height):
    """Find the four cells around each coordinate, and how much each one counts.

    Cell (x, y) has its centre at u = (x + 0.5) / width, v = (y + 0.5) / height.
    Past the outermost centres both neighbours are the edge cell itself.

    uv: (B, 2). Returns
      indices   (B, 4) int, y * width + x; top-left, top-right, bottom-left, bottom-right
      weights   (B, 4), in the same order; they sum to one
      fractions (B, 2), how far uv has moved from the left and the top neighbour, in [0, 1)
    """
    position = np.asarray(uv, np.float64) * [width, height] - 0.5  # (B, 2)
    first = np.floor(position)
    fractions = position - first
    fx, fy = fractions.T
    left, top = first.astype(int).T

    x0, x1 = np.clip([left, left + 1], 0, width - 1)
    y0, y1 = np.clip([top, top + 1], 0, height - 1)
    indices = [y0 * width + x0, y0 * width + x1, y1 * width + x0, y1 * width + x1]
    weights = [(1 - fx) * (1 - fy), fx * (1 - fy), (1 - fx) * fy, fx * fy]
    return np.stack(indices, axis=-1), np.stack(weights, axis=-1), fractions


def bilinear(texture, uv):
    """Read a texture (H, W, C) between its cells, at uv (B, 2). Returns (B, C)."""
    height, width, channels = texture.shape
    indices, weights, _ = bilinear_corners(uv, width, height)
    corners = texture.reshape(height * width, channels)[indices]  # (B, 4, C)
    return (weights[..., np.newaxis] * corners).sum(axis=1)


# ---- Encoding -------------------------------------------------------------------------------


def fourier(uv):
    """Turn coordinates into waves of one and two periods across the image.

    Mildenhall et al.: NeRF (2020), equation 4, with two octaves starting at a full turn.

    uv: (B, 2). Returns (B, 8): for u then v, for octave 0 then 1: sine, cosine.
    """
    octaves = 2.0 ** np.arange(2)
    angles = 2 * np.pi * np.asarray(uv, np.float64)[:, :, np.newaxis] * octaves  # (B, 2, 2)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(-1, 8)


def encode(uv, feature_grid):
    """Describe each coordinate to the MLP.

    uv: (B, 2); feature_grid: (GH, GW, 3). Returns features (B, 16):
    0-2 the feature grid's values, 3-4 the position within the cell as a sine, so that it
    has no jump where one cell ends and the next begins, 5-12 Fourier, 13-15 one.
    """
    grid_height, grid_width, _ = feature_grid.shape
    _, _, fractions = bilinear_corners(uv, grid_width, grid_height)
    padding = np.ones((len(uv), 3))
    return np.hstack(
        [bilinear(feature_grid, uv), np.sin(2 * np.pi * fractions), fourier(uv), padding]
    )


# ---- The multilayer perceptron --------------------------------------------------------------


def split_weights(flat, hidden, layers):
    """Cut the flat weight vector into one matrix (fan_in, fan_out) for each layer.

    hidden: width of the hidden layers; layers: how many there are.
    Raises ValueError when the vector's length does not fit that shape.
    """
    widths = [FEATURES, *[hidden] * layers, OUTPUTS]
    shapes = list(itertools.pairwise(widths))
    ends = np.cumsum([fan_in * fan_out for fan_in, fan_out in shapes])
    if np.shape(flat) != (ends[-1],):
        raise ValueError(
            f"an MLP of {layers} hidden layers of {hidden} has {ends[-1]} weights in one "
            f"flat vector, but got an array of shape {np.shape(flat)}: check hidden and layers"
        )
    pieces = np.split(np.asarray(flat, np.float64), ends[:-1])
    return [piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)]


def sigmoid(x):
    """1 / (1 + exp(-x)), as a hyperbolic tangent, which cannot overflow."""
    return 0.5 * (1 + np.tanh(0.5 * x))


def mlp_forward(features, matrices):
    """Run the MLP: y = x @ W at every layer, then ReLU, or sigmoid at the last.

    features: (B, 16). Returns outputs (B, 16), of which columns 0-2 are the colour, and
    the activations that the backward pass needs: [features, hidden_1, ..., hidden_n].
    """
    activations = [np.asarray(features, np.float64)]
    for matrix in matrices[:-1]:
        activations.append(np.maximum(activations[-1] @ matrix, 0))
    return sigmoid(activations[-1] @ matrices[-1]), activations


# ---- Loss and gradients ---------------------------------------------------------------------


class Gradients(NamedTuple):
    """What the backward pass finds: the loss, and its slope along each quantity named."""

    loss: float
    grad_weights: np.ndarray  # flat, laid out like the weights
    grad_feature_grid: np.ndarray  # (GH, GW, 3)
    grad_features: np.ndarray  # (B, 16)
    grad_output_preactivation: np.ndarray  # (B, 16), before the sigmoid; padding gets zero


def loss(rgb16, target):
    """Mean squared error of the colours; the padding does not count.

    rgb16: (B, 16); target: (B, 3). Returns a float.
    """
    return float(np.mean((np.asarray(rgb16, np.float64)[:, :3] - target) ** 2))


def backward(uv, feature_grid, matrices, target):
    """Find the loss and all its gradients: the chain rule, from the loss back to the grid.

    Rumelhart, Hinton, Williams: Learning representations by back-propagating errors (1986).

    uv: (B, 2); feature_grid: (GH, GW, 3); matrices: as `split_weights` returns them;
    target: (B, 3). Returns `Gradients`.
    """
    outputs, activations = mlp_forward(encode(uv, feature_grid), matrices)
    rgb = outputs[:, :3]

    # d mean(error^2) = 2 error / count, and sigmoid' = sigmoid (1 - sigmoid).
    grad_output_preactivation = np.zeros_like(outputs)
    grad_output_preactivation[:, :3] = 2 * (rgb - target) / rgb.size * rgb * (1 - rgb)

    # For y = x @ W: dW = x^T dy and dx = dy W^T; ReLU passes on only where its result is above 0.
    grad = grad_output_preactivation
    grad_matrices = [activations[-1].T @ grad]
    for layer in range(len(matrices) - 1, 0, -1):
        grad = (grad @ matrices[layer].T) * (activations[layer] > 0)
        grad_matrices.insert(0, activations[layer - 1].T @ grad)
    grad_features = grad @ matrices[0].T

    # A cell receives from every sample that read it, as much as that sample read of it.
    grid_height, grid_width, channels = feature_grid.shape
    indices, weights, _ = bilinear_corners(uv, grid_width, grid_height)
    grad_cells = np.zeros((grid_height * grid_width, channels))
    np.add.at(grad_cells, indices, weights[:, :, np.newaxis] * grad_features[:, np.newaxis, :3])

    return Gradients(
        loss=loss(outputs, target),
        grad_weights=np.concatenate([matrix.ravel() for matrix in grad_matrices]),
        grad_feature_grid=grad_cells.reshape(feature_grid.shape),
        grad_features=grad_features,
        grad_output_preactivation=grad_output_preactivation,
    )


# ---- Adam -----------------------------------------------------------------------------------


def adam(parameter, grad, m, v, step, learning_rate, beta1, beta2, epsilon):
    """Take one step downhill. Kingma and Ba: Adam (2015), algorithm 1.

    parameter, grad, m, v: arrays of one shape; step: counts from 1, a number or an array
    that broadcasts to that shape. Returns the new (parameter, m, v).
    """
    parameter, grad, m, v = (np.asarray(array, np.float64) for array in (parameter, grad, m, v))
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad**2
    m_hat = m / (1 - beta1**step)  # m and v start at zero; this undoes their pull towards it
    v_hat = v / (1 - beta2**step)
    return parameter - learning_rate * m_hat / (np.sqrt(v_hat) + epsilon), m, v


def adam_grid(feature_grid, grad, m, v, steps, learning_rate, beta1, beta2, epsilon):
    """Take one Adam step in those cells that this batch touched; leave the others alone.

    Müller et al.: Instant Neural Graphics Primitives (2022) skip the entries without a
    gradient; here each cell also counts its own steps, so that its bias correction is right.

    feature_grid, grad, m, v: (GH, GW, 3); steps: (GH, GW) int, how often each cell moved.
    Returns new arrays (feature_grid, m, v, steps).
    """
    touched = (np.asarray(grad) != 0).any(axis=-1)  # (GH, GW)
    feature_grid, m, v = (np.array(array, np.float64) for array in (feature_grid, m, v))
    steps = steps + touched
    feature_grid[touched], m[touched], v[touched] = adam(
        feature_grid[touched],
        grad[touched],
        m[touched],
        v[touched],
        steps[touched][:, np.newaxis],
        learning_rate,
        beta1,
        beta2,
        epsilon,
    )
    return feature_grid, m, v, steps


# ---- Images ---------------------------------------------------------------------------------


def grayscale(image):
    """Weigh red, green and blue as the eye does: (H, W, 3) to (H, W).

    The luma of ITU-R BT.709, item 3.2.
    """
    return np.asarray(image, np.float64) @ [0.2126, 0.7152, 0.0722]


def box_average(size_in, size_out):
    """The matrix (size_out, size_in) that averages a line of pixels down to a shorter line.

    Output pixel i covers [i, i + 1] * size_in / size_out of the input line. Both are measured
    in units of 1 / size_out input pixels, so that every overlap is a whole number.
    """
    out_start = np.arange(size_out)[:, np.newaxis] * size_in  # (size_out, 1)
    in_start = np.arange(size_in) * size_out  # (size_in,)
    overlap = np.minimum(out_start + size_in, in_start + size_out) - np.maximum(out_start, in_start)
    return np.maximum(overlap, 0) / size_in


def area_downsample(image, width, height):
    """Average an image (H, W, C) over boxes of equal area. Returns (height, width, C)."""
    rows = box_average(image.shape[0], height)  # (height, H)
    columns = box_average(image.shape[1], width)  # (width, W)
    return np.einsum("yh, hwc, xw -> yxc", rows, image, columns, optimize=True)


def pixel_centres(width, height):
    """The uv of every pixel's centre, (height * width, 2), row by row."""
    v, u = np.meshgrid(
        (np.arange(height) + 0.5) / height, (np.arange(width) + 0.5) / width, indexing="ij"
    )
    return np.stack([u.ravel(), v.ravel()], axis=-1)


def bilinear_upsample(image, width, height):
    """Enlarge an image (H, W, C) smoothly. Returns (height, width, C)."""
    return bilinear(image, pixel_centres(width, height)).reshape(height, width, -1)


def psnr(a, b):
    """Peak signal-to-noise ratio of two images in [0, 1], in decibels; inf when equal.

    -10 log10(mean squared error), the peak being 1.
    """
    mean_squared_error = np.mean((np.asarray(a, np.float64) - b) ** 2)
    if mean_squared_error == 0:
        return float("inf")
    return float(-10 * np.log10(mean_squared_error))


def baseline_psnr(image, grid_width, grid_height):
    """What the grid could do with no MLP: the image shrunk to its size and enlarged again."""
    height, width, _ = image.shape
    small = area_downsample(image, grid_width, grid_height)
    return psnr(bilinear_upsample(small, width, height), image)


def render(feature_grid, matrices, width, height):
    """Paint the field at every pixel's centre. Returns (height, width, 3)."""
    features = encode(pixel_centres(width, height), feature_grid)
    outputs, _ = mlp_forward(features, matrices)
    return outputs[:, :3].reshape(height, width, 3)
