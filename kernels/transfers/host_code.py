"""The host's side: there and back, a queue, two streams, and a clock.

    image (H, W)  ->  small (H // factor, W // factor)
    photo (H, W, 3)  ->  gray (H, W), half (H // 2, W // 2), quarter (H // 4, W // 4)

The idea: host and device are two computers with a memory each. The host copies what the device
needs, asks for work, and copies the result back. It does not have to wait after each request: a
stream is a queue, in which each piece of work begins when the one before has ended, while the host
goes on. What is in two streams may happen at the same time, a copy beside a kernel for example; an
event puts two streams in order, and is a clock, too. Who reads a result has to wait for it once.

The host waits without being asked to where a copy names no stream, and where it goes to ordinary
memory: only into pinned memory, which the system never moves, can the device write by itself.

Source: NVIDIA, "CUDA C++ programming guide", section "Asynchronous concurrent execution".
"""

import numpy as np
from numba import cuda

from kernels.image_ops import grayscale
from kernels.transfers.block_shapes import blocks_to_cover, shrink

BLOCK = 32, 8  # x, y: a warp is 32 pixels side by side


def shrink_on_gpu(image, factor):
    """small (H // factor, W // factor) float32 of image (H, W) float32, both on the host."""
    height, width = image.shape[0] // factor, image.shape[1] // factor
    image_on_gpu = cuda.to_device(image)
    small_on_gpu = cuda.device_array((height, width), np.float32)
    shrink[blocks_to_cover((width, height), BLOCK), BLOCK](image_on_gpu, small_on_gpu, factor)
    return small_on_gpu.copy_to_host()


def gray_in_a_queue(photos):
    """A list of gray (H, W) float32, one for each of photos (H, W, 3) float32; the host waits once.

    All work goes to one stream; the copies back go to pinned arrays.
    """
    queue = cuda.stream()
    grays, still_needed = [], []
    for photo in photos:
        height, width, _ = photo.shape
        photo_on_gpu = cuda.to_device(photo, stream=queue)
        gray_on_gpu = cuda.device_array((height, width), np.float32, stream=queue)
        blocks = blocks_to_cover((width, height), BLOCK)
        grayscale[blocks, BLOCK, queue](photo_on_gpu, gray_on_gpu)
        gray = cuda.pinned_array((height, width), np.float32)
        gray_on_gpu.copy_to_host(gray, stream=queue)
        grays.append(gray)
        # To free an array of the device is to wait for the device.
        still_needed += [photo_on_gpu, gray_on_gpu]
    queue.synchronize()
    return grays


def gray_in_turns(photos):
    """The same list as that of `gray_in_a_queue`; one photograph is copied while another is made
    gray: they take turns in two streams.

    The photographs are pinned as long as that takes, so that the device copies by itself.
    """
    streams = cuda.stream(), cuda.stream()
    grays, still_needed = [], []
    with cuda.pinned(*photos):
        for number, photo in enumerate(photos):
            stream = streams[number % 2]
            height, width, _ = photo.shape
            photo_on_gpu = cuda.to_device(photo, stream=stream)
            gray_on_gpu = cuda.device_array((height, width), np.float32, stream=stream)
            blocks = blocks_to_cover((width, height), BLOCK)
            grayscale[blocks, BLOCK, stream](photo_on_gpu, gray_on_gpu)
            gray = cuda.pinned_array((height, width), np.float32)
            gray_on_gpu.copy_to_host(gray, stream=stream)
            grays.append(gray)
            still_needed += [photo_on_gpu, gray_on_gpu]
        for stream in streams:
            stream.synchronize()
    return grays


def gray_half_quarter(photo):
    """(gray, half, quarter) float32 of photo (H, W, 3): half and quarter in streams of their own.

    Both are made of gray: the second stream waits for an event of the first one.
    """
    height, width, _ = photo.shape
    first, second = cuda.stream(), cuda.stream()
    photo_on_gpu = cuda.to_device(photo, stream=first)
    gray_on_gpu = cuda.device_array((height, width), np.float32)
    half_on_gpu = cuda.device_array((height // 2, width // 2), np.float32)
    quarter_on_gpu = cuda.device_array((height // 4, width // 4), np.float32)

    blocks = blocks_to_cover((width, height), BLOCK)
    grayscale[blocks, BLOCK, first](photo_on_gpu, gray_on_gpu)
    # The other stream may begin only when gray is complete.
    gray_is_there = cuda.event()
    gray_is_there.record(first)
    gray_is_there.wait(second)
    blocks = blocks_to_cover((width // 2, height // 2), BLOCK)
    shrink[blocks, BLOCK, first](gray_on_gpu, half_on_gpu, 2)
    blocks = blocks_to_cover((width // 4, height // 4), BLOCK)
    shrink[blocks, BLOCK, second](gray_on_gpu, quarter_on_gpu, 4)

    gray = cuda.pinned_array((height, width), np.float32)
    half = cuda.pinned_array((height // 2, width // 2), np.float32)
    quarter = cuda.pinned_array((height // 4, width // 4), np.float32)
    gray_on_gpu.copy_to_host(gray, stream=first)
    half_on_gpu.copy_to_host(half, stream=first)
    quarter_on_gpu.copy_to_host(quarter, stream=second)
    first.synchronize()
    second.synchronize()
    return gray, half, quarter


def timed_shrink(image, factor, launches):
    """(small, milliseconds per launch): `shrink` once, and then `launches` times by the clock.

    The first launch compiles the kernel, so it is not counted; neither are the copies.
    """
    height, width = image.shape[0] // factor, image.shape[1] // factor
    stream = cuda.stream()
    image_on_gpu = cuda.to_device(image, stream=stream)
    small_on_gpu = cuda.device_array((height, width), np.float32)
    blocks = blocks_to_cover((width, height), BLOCK)
    start, end = cuda.event(), cuda.event()
    shrink[blocks, BLOCK, stream](image_on_gpu, small_on_gpu, factor)
    start.record(stream)
    for _ in range(launches):
        shrink[blocks, BLOCK, stream](image_on_gpu, small_on_gpu, factor)
    end.record(stream)
    # The device has a clock of its own: it notes the time when it comes to an event.
    end.synchronize()
    return small_on_gpu.copy_to_host(), start.elapsed_time(end) / launches
