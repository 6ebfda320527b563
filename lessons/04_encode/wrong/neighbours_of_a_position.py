"""neighbours gets the position in cells, where it wants u, and counts the cells twice."""
# caught by: sub_cell
# diagnosis: neighbours(u * width, width)

from numba import cuda, float32

from kernels.config import FOURIER_OCTAVES
from kernels.field_math import bilinear, neighbours, sine_of_turns


@cuda.jit
def encode(uv, feature_grid, features):
    i = cuda.grid(1)
    if i < uv.shape[0]:
        u = uv[i, 0]
        v = uv[i, 1]
        gh = feature_grid.shape[0]
        gw = feature_grid.shape[1]

        f = bilinear(feature_grid, u, v)
        for j in range(3):
            features[i, j] = f[j]

        x = u * float32(gw)
        y = v * float32(gh)
        x0, x1, fx = neighbours(x, gw)
        y0, y1, fy = neighbours(y, gh)
        features[i, 3] = sine_of_turns(fx)
        features[i, 4] = sine_of_turns(fy)

        for j in range(FOURIER_OCTAVES):
            n = float32(1 << j)
            features[i, 5 + 2 * j] = sine_of_turns(n * u)
            features[i, 6 + 2 * j] = sine_of_turns(n * u + float32(0.25))
            features[i, 9 + 2 * j] = sine_of_turns(n * v)
            features[i, 10 + 2 * j] = sine_of_turns(n * v + float32(0.25))

        for j in range(3):
            features[i, 13 + j] = float32(1)
