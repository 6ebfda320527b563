"""Channel 4 has the fraction of u, left from copying."""
# caught by: sub_cell
# diagnosis: other waves

from numba import cuda, float32

from kernels.field_math import bilinear, neighbours, sine_of_turns


@cuda.jit
def encode(uv, feature_grid, features):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < uv.shape[0]:
        u = uv[i, 0]
        v = uv[i, 1]
        quarter = float32(0.25)
        two = float32(2)
        features[i, 0], features[i, 1], features[i, 2] = bilinear(feature_grid, u, v)
        features[i, 3] = sine_of_turns(neighbours(u, feature_grid.shape[1])[2])
        features[i, 4] = sine_of_turns(neighbours(u, feature_grid.shape[0])[2])
        features[i, 5] = sine_of_turns(u)
        features[i, 6] = sine_of_turns(u + quarter)
        features[i, 7] = sine_of_turns(two * u)
        features[i, 8] = sine_of_turns(two * u + quarter)
        features[i, 9] = sine_of_turns(v)
        features[i, 10] = sine_of_turns(v + quarter)
        features[i, 11] = sine_of_turns(two * v)
        features[i, 12] = sine_of_turns(two * v + quarter)
        features[i, 13] = float32(1)
        features[i, 14] = float32(1)
        features[i, 15] = float32(1)
