"""The host computes; the device is only asked for what has no effect."""
# points: 8


def shrink_on_gpu(image, factor):
    return shrink_on_cpu(image, factor)
