"""The first stream waits for an event of the second one: the roles are exchanged."""
# caught by: two_streams
# diagnosis: exchange the two

import numpy as np
from numba import cuda, float32

from kernels.image_ops import grayscale
from kernels.launch import blocks_for, on_gpu
from kernels.transfers.host_code import BLOCK


def shrink_on_cpu(image, factor):
    """small (H // factor, W // factor) float32: means of factor x factor numbers of image (H, W).

    One loop after the other, on the host, in the order in which the kernel adds.
    """
    rows = len(image) // factor
    columns = len(image[0]) // factor
    small = np.empty((rows, columns), dtype=np.float32)
    for row in range(rows):
        for column in range(columns):
            square = image[
                row * factor : (row + 1) * factor, column * factor : (column + 1) * factor
            ]
            mean = np.float32(0)
            for number in square.reshape(-1):
                mean = mean + number
            small[row, column] = mean / np.float32(factor**2)
    return small


@cuda.jit
def shrink(image, small, factor):
    """The same as `shrink_on_cpu`, with one thread per number of `small`. factor: int."""
    x, y = cuda.grid(2)
    if x >= small.shape[1] or y >= small.shape[0]:
        return
    total = float32(0)
    for j in range(factor):
        for i in range(factor):
            total += image[y * factor + j, x * factor + i]
    small[y, x] = total / float32(factor * factor)


def blocks_to_cover(size, block):
    """How many blocks cover a grid, rounded up in each direction.

    size: threads that are needed, (x, y) or (x, y, z). block: its shape, as many numbers. Returns
    a tuple of as many ints.
    """
    counts = []
    for needed, threads in zip(size, block, strict=False):
        counts.append(blocks_for(needed, threads))
    return tuple(counts)


def launch_shrink(image, small, factor, block, launch=on_gpu):
    """block: its shape (x, y), such as those of BLOCK_SHAPES."""
    height, width = small.shape
    launch(shrink, blocks_to_cover((width, height), block), block, image, small, factor)


@cuda.jit
def tint(image, gains, tinted):
    """tinted (H, W, C): each channel of image (H, W, C) times its gain, at most 1; all float32.

    One thread per number: the grid has three directions.
    """
    c = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    x = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    y = cuda.blockIdx.z * cuda.blockDim.z + cuda.threadIdx.z
    if c >= tinted.shape[2] or x >= tinted.shape[1] or y >= tinted.shape[0]:
        return
    value = image[y, x, c] * gains[c]
    if value > float32(1):
        value = float32(1)
    tinted[y, x, c] = value


def launch_tint(image, gains, tinted, launch=on_gpu):
    """Start `tint` with a thread for each number of tinted (H, W, C)."""
    height, width, channels = tinted.shape
    block = (3, 32, 2)
    launch(tint, blocks_to_cover((channels, width, height), block), block, image, gains, tinted)


def shrink_on_gpu(image, factor):
    """small (H // factor, W // factor) float32 of image (H, W) float32, both on the host."""
    height, width = image.shape[0] // factor, image.shape[1] // factor
    there = cuda.to_device(image)
    small = cuda.device_array((height, width), np.float32)
    shrink[blocks_to_cover((width, height), BLOCK), BLOCK](there, small, factor)
    return small.copy_to_host()


def gray_in_a_queue(photos):
    """A list of gray (H, W) float32, one for each of photos (H, W, 3) float32; the host waits once.

    All work goes to one stream; the copies back go to pinned arrays.
    """
    queue = cuda.stream()
    grays, kept = [], []
    for photo in photos:
        height, width = photo.shape[:2]
        photo_there = cuda.to_device(photo, stream=queue)
        gray_there = cuda.device_array((height, width), np.float32)
        grayscale[blocks_to_cover((width, height), BLOCK), BLOCK, queue](photo_there, gray_there)
        gray = cuda.pinned_array((height, width), np.float32)
        gray_there.copy_to_host(gray, stream=queue)
        grays.append(gray)
        kept.append((photo_there, gray_there))
    queue.synchronize()
    return grays


def gray_half_quarter(photo):
    """(gray, half, quarter) float32 of photo (H, W, 3): half and quarter in streams of their own.

    Both are made of gray: the second stream waits for an event of the first one.
    """
    h, w, _ = photo.shape
    one = cuda.stream()
    two = cuda.stream()

    def room(rows, columns):
        there = cuda.device_array((rows, columns), dtype=np.float32)
        here = cuda.pinned_array((rows, columns), dtype=np.float32)
        return there, here, blocks_to_cover((columns, rows), BLOCK)

    gray_d, gray_h, gray_blocks = room(h, w)
    half_d, half_h, half_blocks = room(h // 2, w // 2)
    quarter_d, quarter_h, quarter_blocks = room(h // 4, w // 4)

    photo_d = cuda.to_device(photo, stream=one)
    grayscale[gray_blocks, BLOCK, one](photo_d, gray_d)

    ready = cuda.event()
    ready.record(two)
    ready.wait(one)

    shrink[half_blocks, BLOCK, one](gray_d, half_d, 2)
    shrink[quarter_blocks, BLOCK, two](gray_d, quarter_d, 4)

    gray_d.copy_to_host(gray_h, stream=one)
    half_d.copy_to_host(half_h, stream=one)
    quarter_d.copy_to_host(quarter_h, stream=two)
    one.synchronize()
    two.synchronize()
    return gray_h, half_h, quarter_h


def timed_shrink(image, factor, launches):
    """(small, milliseconds per launch): `shrink` once, and then `launches` times by the clock.

    The first launch compiles the kernel, so it is not counted; neither are the copies.
    """
    height, width = image.shape[0] // factor, image.shape[1] // factor
    there = cuda.to_device(image)
    small = cuda.device_array((height, width), np.float32)
    blocks = blocks_to_cover((width, height), BLOCK)
    shrink[blocks, BLOCK](there, small, factor)

    start, end = cuda.event(), cuda.event()
    start.record()
    for _ in range(launches):
        shrink[blocks, BLOCK](there, small, factor)
    end.record()
    end.synchronize()
    return small.copy_to_host(), start.elapsed_time(end) / launches
