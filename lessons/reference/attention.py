"""Layer norm and attention in plain float64 NumPy, written from the equations; see lesson 19.

Nothing is imported from `kernels/`. Shape tags: R rows, B batch, H heads, N places, D channels.
"""

import numpy as np

EPSILON = 1e-5


def statistics(x):
    """means (R,), and scales (R,): one over the root of the variance plus EPSILON."""
    x = np.asarray(x, float)
    return x.mean(axis=1), 1 / np.sqrt(x.var(axis=1) + EPSILON)


def layer_norm(x, gain):
    """(R, D): rows with the mean 0 and the deviation 1, times gain (D,)."""
    means, scales = statistics(x)
    return (x - means[:, np.newaxis]) * scales[:, np.newaxis] * gain


def layer_norm_gradients(x, gain, grad_out):
    """grad_x (R, D) and grad_gain (D,), by the derivative of a row written out: a matrix (D, D).

    d out_i / d x_j = gain_i scale (1 for i = j  -  1 / D  -  n_i n_j / D)
    """
    _, scales = statistics(x)
    width = np.shape(x)[1]
    normalized = layer_norm(x, 1.0)
    grad_x = np.empty((len(scales), width))
    for row, n in enumerate(normalized):
        derivative = scales[row] * (np.eye(width) - 1 / width - np.outer(n, n) / width)
        grad_x[row] = (np.asarray(grad_out[row], float) * gain) @ derivative
    return grad_x, (grad_out * normalized).sum(axis=0)


def attention(q, k, v):
    """out (B, H, N, D), weights (B, H, N, N) and log_sums (B, H, N), causal."""
    q, k, v = (np.asarray(array, float) for array in (q, k, v))
    count, width = q.shape[2:]
    scores = q @ k.swapaxes(2, 3) / np.sqrt(width)
    scores = np.where(np.tri(count, dtype=bool), scores, -np.inf)
    largest = scores.max(axis=3, keepdims=True)
    exponentials = np.exp(scores - largest)
    totals = exponentials.sum(axis=3, keepdims=True)
    weights = exponentials / totals
    return weights @ v, weights, (largest + np.log(totals))[..., 0]


def attention_gradients(q, k, v, grad_out):
    """grad_q, grad_k, grad_v (B, H, N, D) of sum(out * grad_out)."""
    out, weights, _ = attention(q, k, v)
    q, k, v, grad_out = (np.asarray(array, float) for array in (q, k, v, grad_out))
    wanted = grad_out @ v.swapaxes(2, 3)
    mean = (grad_out * out).sum(axis=3, keepdims=True)
    slopes = weights * (wanted - mean) / np.sqrt(q.shape[3])
    return slopes @ k, slopes.swapaxes(2, 3) @ q, weights.swapaxes(2, 3) @ grad_out
