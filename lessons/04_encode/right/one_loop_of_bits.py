"""Eight waves in one loop: bits of its number say axis, octave and kind; a blend of its own."""

from numba import cuda, float32

from kernels.field_math import neighbours, sine_of_turns


@cuda.jit
def encode(uv, feature_grid, features):
    for s in range(cuda.grid(1), uv.shape[0], cuda.gridsize(1)):
        left, right, fx = neighbours(uv[s, 0], feature_grid.shape[1])
        top, bottom, fy = neighbours(uv[s, 1], feature_grid.shape[0])
        for c in range(3):
            upper = (
                feature_grid[top, left, c] * (float32(1) - fx) + feature_grid[top, right, c] * fx
            )
            lower = (
                feature_grid[bottom, left, c] * (float32(1) - fx)
                + feature_grid[bottom, right, c] * fx
            )
            features[s, c] = upper * (float32(1) - fy) + lower * fy
        features[s, 3] = sine_of_turns(fx)
        features[s, 4] = sine_of_turns(fy)
        for wave in range(8):
            turns = uv[s, wave >> 2] * float32(1 + ((wave >> 1) & 1))
            features[s, 5 + wave] = sine_of_turns(turns + float32(wave & 1) * float32(0.25))
        for c in range(13, 16):
            features[s, c] = float32(1)
