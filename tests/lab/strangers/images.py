"""Image processing and signals."""

import math

import numba as nb
import numpy as np
from numba import cuda, float32, int32

from tests.lab.strangers.case import right, wrong

random = np.random.default_rng(5)
photo = random.integers(0, 256, (21, 34, 3)).astype(np.uint8)
gray = random.random((21, 34)).astype(np.float32)


@cuda.jit
def to_gray(img, out):
    x, y = cuda.grid(2)
    if y < img.shape[0] and x < img.shape[1]:
        r, g, b = img[y, x]
        out[y, x] = 0.299 * r + 0.587 * g + 0.114 * b


@cuda.jit
def invert_one_channel_too_many(img):
    x, y = cuda.grid(2)
    if y < img.shape[0] and x < img.shape[1]:
        for c in range(4):
            img[y, x, c] = 255 - img[y, x, c]  # HERE


luma = photo.astype(float) @ [0.299, 0.587, 0.114]
right(to_gray, (3, 2), (16, 16), photo, np.zeros((21, 34), np.float32), out=luma)
wrong(invert_one_channel_too_many, (3, 2), (16, 16), photo, kind="out-of-bounds", says="axis 2")


# --- convolutions

K = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]], np.float32) / np.float32(16)
TILE = 8
RADIUS = 1
PITCH = TILE + 2 * RADIUS


@cuda.jit
def blur_constant(img, out):
    k = cuda.const.array_like(K)
    x, y = cuda.grid(2)
    h, w = img.shape
    if x >= w or y >= h:
        return
    acc = float32(0.0)
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            yy = min(max(y + dy, 0), h - 1)
            xx = min(max(x + dx, 0), w - 1)
            acc += img[yy, xx] * k[dy + 1, dx + 1]
    out[y, x] = acc


@cuda.jit
def blur_kernel_index_off(img, out):
    k = cuda.const.array_like(K)
    x, y = cuda.grid(2)
    h, w = img.shape
    if x >= w or y >= h:
        return
    acc = float32(0.0)
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            yy = min(max(y + dy, 0), h - 1)
            acc += img[yy, min(max(x + dx, 0), w - 1)] * k[dy + 2, dx + 1]  # HERE
    out[y, x] = acc


@cuda.jit
def blur_tiled(img, out):
    tile = cuda.shared.array((PITCH, PITCH), float32)
    h, w = img.shape
    x0 = cuda.blockIdx.x * TILE - RADIUS
    y0 = cuda.blockIdx.y * TILE - RADIUS
    t = cuda.threadIdx.y * TILE + cuda.threadIdx.x
    for k in range(t, PITCH * PITCH, TILE * TILE):
        r, c = divmod(k, PITCH)
        tile[r, c] = img[min(max(y0 + r, 0), h - 1), min(max(x0 + c, 0), w - 1)]
    cuda.syncthreads()
    x, y = cuda.grid(2)
    if x < w and y < h:
        acc = float32(0)
        for r in range(3):
            for c in range(3):
                acc += K[r, c] * tile[cuda.threadIdx.y + r, cuda.threadIdx.x + c]
        out[y, x] = acc


@cuda.jit
def blur_tile_without_halo(img, out):
    tile = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    h, w = img.shape
    tile[ty, tx] = img[min(y, h - 1), min(x, w - 1)]
    cuda.syncthreads()
    if x < w and y < h:
        out[y, x] = (tile[ty, tx] + tile[ty + 1, tx]) / 2  # HERE


@cuda.jit
def blur_in_place(img):
    x, y = cuda.grid(2)
    if 0 < x < img.shape[1] - 1 and 0 < y < img.shape[0] - 1:
        img[y, x] = (img[y, x - 1] + img[y, x] + img[y, x + 1]) / float32(3)  # HERE


def blur_reference(img):
    p = np.pad(img, 1, "edge").astype(float)
    return sum(K[r, c] * p[r : r + 21, c : c + 34] for r in range(3) for c in range(3))


right(blur_constant, (5, 3), (8, 8), gray, np.zeros_like(gray), out=blur_reference(gray))
wrong(
    blur_kernel_index_off,
    (5, 3),
    (8, 8),
    gray,
    np.zeros_like(gray),
    kind="out-of-bounds",
    says="[3, 0]",
)
right(blur_tiled, (5, 3), (TILE, TILE), gray, np.zeros_like(gray), out=blur_reference(gray))
wrong(
    blur_tile_without_halo,
    (5, 3),
    (TILE, TILE),
    gray,
    np.zeros_like(gray),
    kind="out-of-bounds",
    says="tile[8",
)
wrong(blur_in_place, (5, 3), (8, 8), gray, kind="race", never="syncthreads() between")


# --- a median over a window, in a local array; a bilateral filter; CLAHE


@cuda.jit
def median3(img, out):
    x, y = cuda.grid(2)
    h, w = img.shape
    if x < 1 or y < 1 or x >= w - 1 or y >= h - 1:
        return
    window = cuda.local.array((9,), float32)
    n = 0
    for row in img[y - 1 : y + 2, x - 1 : x + 2]:
        for v in row:
            k = n
            while k > 0 and window[k - 1] > v:
                window[k] = window[k - 1]
                k -= 1
            window[k] = v
            n += 1
    out[y, x] = window[4]


def median_reference(img):
    out = np.zeros_like(img)
    windows = np.lib.stride_tricks.sliding_window_view(img, (3, 3))
    out[1:-1, 1:-1] = np.median(windows, (2, 3))
    return out


right(median3, (5, 3), (8, 8), gray, np.zeros_like(gray), out=median_reference(gray))


@cuda.jit
def local_equalise(img, size, out):
    i, j = cuda.grid(2)
    if i >= img.shape[0] or j >= img.shape[1]:
        return
    half = size // 2
    il = max(0, i - half)
    jl = max(0, j - half)
    region = img[il : i + half + 1, jl : j + half + 1]
    hist = cuda.local.array(shape=16, dtype=nb.uint16)
    hist[:] = 0
    for ri in range(region.shape[0]):
        for rj in range(region.shape[1]):
            hist[region[ri, rj]] += 1
    below = 0
    for v in range(img[i, j] + 1):
        below += hist[v]
    out[i, j] = below / region.size


@cuda.jit
def local_equalise_255(img, out):
    i, j = cuda.grid(2)
    if i >= img.shape[0] or j >= img.shape[1]:
        return
    hist = cuda.local.array(255, nb.int32)
    for v in range(255):
        hist[v] = 0
    hist[img[i, j]] += 1  # HERE
    out[i, j] = hist[img[i, j]]  # HERE


levels = random.integers(0, 16, (19, 17)).astype(np.uint8)


def equalise_reference(img, size):
    out, half = np.zeros(img.shape), size // 2
    for i in range(img.shape[0]):
        for j in range(img.shape[1]):
            window = img[max(0, i - half) : i + half + 1, max(0, j - half) : j + half + 1]
            out[i, j] = (window <= img[i, j]).mean()
    return out


white = photo[..., 0].copy()
white[3, 3] = 255
right(
    local_equalise, (3, 3), (8, 8), levels, 5, np.zeros((19, 17)), out=equalise_reference(levels, 5)
)
wrong(
    local_equalise_255,
    (3, 5),
    (8, 8),
    white,
    np.zeros(white.shape),
    kind="out-of-bounds",
    says="255",
)


# --- histograms of images, integral images


@cuda.jit
def histogram_thread_x_only(img, hist):
    s = cuda.shared.array(256, int32)
    t = cuda.threadIdx.x
    for k in range(t, 256, cuda.blockDim.x):
        s[k] = 0
    cuda.syncthreads()
    x, y = cuda.grid(2)
    if x < img.shape[1] and y < img.shape[0]:
        s[img[y, x]] += 1  # HERE
    cuda.syncthreads()
    if cuda.threadIdx.y == 0:
        for k in range(t, 256, cuda.blockDim.x):
            cuda.atomic.add(hist, k, s[k])


@cuda.jit
def integral_rows(img, out):
    y = cuda.grid(1)
    if y < img.shape[0]:
        total = 0
        for x, v in enumerate(img[y]):
            total += v
            out[y, x] = total


wrong(
    histogram_thread_x_only,
    (5, 3),
    (8, 8),
    levels,
    np.zeros(256, np.int32),
    kind="race",
    says="atomic.add",
)
right(integral_rows, 1, 32, levels, np.zeros((19, 17), np.int32), out=levels.cumsum(1))


# --- geometry: rotation, resizing, affine maps, ray casting, projection


@cuda.jit(device=True)
def bilinear(img, y, x):
    y0 = int(math.floor(y))
    x0 = int(math.floor(x))
    fy, fx = y - y0, x - x0
    y1 = min(y0 + 1, img.shape[0] - 1)
    x1 = min(x0 + 1, img.shape[1] - 1)
    top = img[y0, x0] * (1 - fx) + img[y0, x1] * fx
    bottom = img[y1, x0] * (1 - fx) + img[y1, x1] * fx
    return top * (1 - fy) + bottom * fy


@cuda.jit
def rotate_image(img, angle, out):
    x, y = cuda.grid(2)
    h, w = out.shape
    if x >= w or y >= h:
        return
    c, s = math.cos(angle), math.sin(angle)
    cy, cx = (h - 1) / 2, (w - 1) / 2
    sy = c * (y - cy) - s * (x - cx) + cy
    sx = s * (y - cy) + c * (x - cx) + cx
    if 0 <= sy <= h - 1 and 0 <= sx <= w - 1:
        out[y, x] = bilinear(img, sy, sx)
    else:
        out[y, x] = 0


@cuda.jit
def resize_float_index(img, out):
    x, y = cuda.grid(2)
    if x < out.shape[1] and y < out.shape[0]:
        sx = x * img.shape[1] / out.shape[1]
        sy = y * img.shape[0] / out.shape[0]
        out[y, x] = img[sy, sx]  # HERE


@cuda.jit
def resize_rounded_up(img, out):
    x, y = cuda.grid(2)
    if x < out.shape[1] and y < out.shape[0]:
        sx = int(round(x * img.shape[1] / out.shape[1]))
        sy = int(round(y * img.shape[0] / out.shape[0]))
        out[y, x] = img[sy, sx]  # HERE


def rotate_reference(img, angle):
    h, w = img.shape
    y, x = np.indices(img.shape).astype(float)
    c, s = math.cos(angle), math.sin(angle)
    cy, cx = (h - 1) / 2, (w - 1) / 2
    sy, sx = c * (y - cy) - s * (x - cx) + cy, s * (y - cy) + c * (x - cx) + cx
    inside = (sy >= 0) & (sy <= h - 1) & (sx >= 0) & (sx <= w - 1)
    sy, sx = np.where(inside, sy, 0), np.where(inside, sx, 0)
    y0, x0 = np.floor(sy).astype(int), np.floor(sx).astype(int)
    y1, x1 = np.minimum(y0 + 1, h - 1), np.minimum(x0 + 1, w - 1)
    fy, fx = sy - y0, sx - x0
    value = (img[y0, x0] * (1 - fx) + img[y0, x1] * fx) * (1 - fy) + (
        img[y1, x0] * (1 - fx) + img[y1, x1] * fx
    ) * fy
    return np.where(inside, value, 0)


right(rotate_image, (5, 3), (8, 8), gray, 0.3, np.zeros_like(gray), out=rotate_reference(gray, 0.3))
wrong(
    resize_float_index,
    (9, 6),
    (8, 8),
    gray,
    np.zeros((41, 67), np.float32),
    kind="compile",
    says="whole number",
)
wrong(resize_rounded_up, (9, 6), (8, 8), gray, np.zeros((42, 68), np.float32), kind="out-of-bounds")


# --- Fourier transforms


@cuda.jit
def spectrum_into_real(x, out):
    k = cuda.grid(1)
    if k < x.size:
        out[k] = x[k] * x[k].conjugate()  # HERE


signal = random.random((3, 64)) + 1j * random.random((3, 64))
wrong(spectrum_into_real, 2, 32, signal[0], np.zeros(64), kind="compile", says=".real")


# --- volumes


@cuda.jit
def voxel_downsample(points, size, cells, count):
    p = cuda.grid(1)
    if p < points.shape[0]:
        i = int(points[p, 0] // size)
        j = int(points[p, 1] // size)
        k = int(points[p, 2] // size)
        if 0 <= i < cells.shape[0] and 0 <= j < cells.shape[1] and 0 <= k < cells.shape[2]:
            if cuda.atomic.add(cells, (i, j, k), 1) == 0:
                cuda.atomic.add(count, 0, 1)


cloud = random.random((80, 3)) * 1.1
occupied = np.zeros((4, 4, 4), np.int32)
for place in (cloud // 0.25).astype(int):
    if (place < 4).all():
        occupied[tuple(place)] += 1
right(
    voxel_downsample,
    3,
    32,
    cloud,
    0.25,
    np.zeros((4, 4, 4), np.int32),
    np.zeros(1, np.int32),
    cells=occupied,
    count=[(occupied > 0).sum()],
)
