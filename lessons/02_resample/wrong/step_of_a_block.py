"""The loops go on by a block, not by the grid: threads share pixels."""
# caught by: upsample
# diagnosis: and goes on by a block

from numba import cuda, float32


@cuda.jit
def upsample(small, large):
    x0, y0 = cuda.grid(2)
    dx, dy = cuda.blockDim.x, cuda.blockDim.y
    for y in range(y0, large.shape[0], dy):
        for x in range(x0, large.shape[1], dx):
            u = (float32(x) + float32(0.5)) / float32(large.shape[1])
            v = (float32(y) + float32(0.5)) / float32(large.shape[0])
            r, g, b = bilinear(small, u, v)
            large[y, x, 0] = r
            large[y, x, 1] = g
            large[y, x, 2] = b
