"""A random pixel is drawn, and its centre stored, instead of a random point."""
# caught by: batch
# diagnosis: centres of pixels

from numba import cuda, float32, uint64


@cuda.jit
def sample_batch(image, seed, step, uv, target):
    s = cuda.grid(1)
    if s >= uv.shape[0]:
        return
    u, v = random_uv(uint64(s), step, seed)
    row = int(v * float32(image.shape[0]))
    column = int(u * float32(image.shape[1]))
    uv[s, 0] = (float32(column) + float32(0.5)) / float32(image.shape[1])
    uv[s, 1] = (float32(row) + float32(0.5)) / float32(image.shape[0])
    for c in range(3):
        target[s, c] = image[row, column, c]
