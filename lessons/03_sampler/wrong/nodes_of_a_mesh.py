"""The pixels are nodes of a mesh, from one edge to the other: column / (width - 1)."""
# caught by: pixel_centres
# diagnosis: u is column / (width - 1)

from numba import cuda, float32


@cuda.jit
def pixel_centres(first_pixel, width, height, uv):
    """Fill uv with the coordinates of consecutive pixels, row by row."""
    i = cuda.grid(1)
    if i < uv.shape[0]:
        ipix = first_pixel + i
        irow = ipix // width
        icol = ipix - irow * width
        irow = min(irow, height - 1)
        # mesh from 0 to 1 in both directions
        uv[i, 0] = float32(icol) / float32(max(width - 1, 1))
        uv[i, 1] = float32(irow) / float32(max(height - 1, 1))
