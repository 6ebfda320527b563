"""The Fourier channels are waves of the fraction of a cell, not of u and v."""
# caught by: fourier
# diagnosis: the fraction along u

from numba import cuda, float32

from kernels.field_math import bilinear, neighbours, sine_of_turns


@cuda.jit
def encode(uv, feature_grid, features):
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return
    u = uv[sample, 0]
    v = uv[sample, 1]
    red, green, blue = bilinear(feature_grid, u, v)
    features[sample, 0] = red
    features[sample, 1] = green
    features[sample, 2] = blue
    _, _, x_fraction = neighbours(u, feature_grid.shape[1])
    _, _, y_fraction = neighbours(v, feature_grid.shape[0])
    features[sample, 3] = sine_of_turns(x_fraction)
    features[sample, 4] = sine_of_turns(y_fraction)
    quarter = float32(0.25)
    two_u = x_fraction + x_fraction
    two_v = y_fraction + y_fraction
    features[sample, 5] = sine_of_turns(x_fraction)
    features[sample, 6] = sine_of_turns(x_fraction + quarter)
    features[sample, 7] = sine_of_turns(two_u)
    features[sample, 8] = sine_of_turns(two_u + quarter)
    features[sample, 9] = sine_of_turns(y_fraction)
    features[sample, 10] = sine_of_turns(y_fraction + quarter)
    features[sample, 11] = sine_of_turns(two_v)
    features[sample, 12] = sine_of_turns(two_v + quarter)
    features[sample, 13] = float32(1)
    features[sample, 14] = float32(1)
    features[sample, 15] = float32(1)
