"""For cells older than the table the corrections are taken to be 1: they use its last row."""
# caught by: grid
# diagnosis: not the last row

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.adam import adam_step


@register_jitable
def factors(corrections, age):
    """The table ends where both factors have become 1."""
    if age < corrections.shape[0]:
        return corrections[age, 0], corrections[age, 1]
    return float32(1), float32(1)


@register_jitable
def move(grid, gradients, m, v, y, x, c, for_m, for_v, learning_rate, rates):
    p, new_m, new_v = adam_step(
        grid[y, x, c],
        gradients[y, x, c],
        m[y, x, c],
        v[y, x, c],
        for_m,
        for_v,
        learning_rate,
        rates,
    )
    grid[y, x, c] = p
    m[y, x, c] = new_m
    v[y, x, c] = new_v
    gradients[y, x, c] = float32(0)


@cuda.jit
def adam_grid(feature_grid, grad_feature_grid, m, v, steps, corrections, learning_rate, rates):
    height, width = steps.shape
    cell = cuda.grid(1)
    y = cell // width
    x = cell - y * width
    if y >= height:
        return
    red = grad_feature_grid[y, x, 0]
    green = grad_feature_grid[y, x, 1]
    blue = grad_feature_grid[y, x, 2]
    if max(abs(red), abs(green), abs(blue)) == 0:
        return
    steps[y, x] += 1
    for_m, for_v = factors(corrections, steps[y, x])
    move(feature_grid, grad_feature_grid, m, v, y, x, 0, for_m, for_v, learning_rate, rates)
    move(feature_grid, grad_feature_grid, m, v, y, x, 1, for_m, for_v, learning_rate, rates)
    move(feature_grid, grad_feature_grid, m, v, y, x, 2, for_m, for_v, learning_rate, rates)
