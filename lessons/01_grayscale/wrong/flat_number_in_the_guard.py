"""The guard compares the flat number of the pixel alone: threads right of it do a later row's."""
# caught by: one_thread_per_pixel
# diagnosis: Compare x with the width

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    h = gray.shape[0]
    w = gray.shape[1]
    tx = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    ty = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    idx = ty * w + tx
    if idx >= w * h:
        return
    i = idx // w
    j = idx % w
    gray[i, j] = luminance(image[i, j, 0], image[i, j, 1], image[i, j, 2])
