"""A thread per sample goes back alone, with an atomic for each weight; the warm-ups are done."""
# points: 5

from numba import cuda, float32

from kernels.config import COLOURS, FEATURES, GRID_CHANNELS, OUTPUTS


@cuda.jit
def backward(
    uv, features, hidden, outputs, target, weights, grad_weights, grad_feature_grid, loss_sum
):
    delta = cuda.local.array(64, float32)
    below = cuda.local.array(64, float32)
    layers, batch, width = hidden.shape
    sample = cuda.grid(1)
    if sample >= batch:
        return
    scale = float32(1) / (float32(batch) * float32(COLOURS))
    squares = float32(0)
    for unit in range(OUTPUTS):
        delta[unit] = float32(0)
        if unit < COLOURS:
            output = outputs[sample, unit]
            error = output - target[sample, unit]
            squares += error * error
            delta[unit] = float32(2) * scale * error * output * (float32(1) - output)
    cuda.atomic.add(loss_sum, 0, squares * scale)
    offset = weights.shape[0]
    fan_out = OUTPUTS
    for step in range(layers + 1):
        layer = layers - step
        fan_in = FEATURES if layer == 0 else width
        offset -= fan_in * fan_out
        for i in range(fan_in):
            activation = features[sample, i] if layer == 0 else hidden[layer - 1, sample, i]
            total = float32(0)
            for unit in range(fan_out):
                weight = offset + i * fan_out + unit
                cuda.atomic.add(grad_weights, weight, activation * delta[unit])
                total += weights[weight] * delta[unit]
            if layer > 0 and not activation > float32(0):
                total = float32(0)
            below[i] = total
            if layer == 0 and i < GRID_CHANNELS:
                scatter(grad_feature_grid, uv[sample, 0], uv[sample, 1], i, total)
        for i in range(fan_in):
            delta[i] = below[i]
        fan_out = fan_in


def launch_backward(
    uv, features, hidden, outputs, target, weights, grad_weights, grad_feature_grid, loss_sum,
    launch=None,
):  # fmt: skip
    launch(
        backward, (uv.shape[0] + 63) // 64, 64,
        uv, features, hidden, outputs, target, weights, grad_weights, grad_feature_grid, loss_sum,
    )  # fmt: skip
