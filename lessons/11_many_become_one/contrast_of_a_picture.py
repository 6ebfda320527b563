"""What the command measures of a picture, and what it makes of it, all by kernels."""

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from kernels.reductions.prefix_sum import parts_for
from kernels.reductions.sums import blocks_for_values
from lessons.capstones.device import Device

BINS = 256
# Of 1,000 pixels, how many may be darker than what becomes black; how many not brighter than white.
PER_MILLE = 5, 995


class Measured(NamedTuple):
    """Of one picture.

    mean, brightest: of its brightness, 0 to 1; brightest_at: (row, column). mean_colour: red,
    green, blue. counts, running (BINS,) int32: the histogram and its running sum. dark, bright: the
    bins that become black and white.
    """

    mean: float
    brightest: float
    brightest_at: tuple[int, int]
    mean_colour: tuple[float, ...]
    counts: np.ndarray
    running: np.ndarray
    dark: int
    bright: int

    def summary(self) -> dict[str, Any]:
        """What of it goes into summary.json."""
        return {
            "mean_brightness": self.mean,
            "mean_colour": self.mean_colour,
            "brightest": self.brightest,
            "brightest_at": self.brightest_at,
            "dark_bin": self.dark,
            "bright_bin": self.bright,
        }


def measure(
    device: Device,
    gray: SimpleNamespace,
    counting: SimpleNamespace,
    mine: SimpleNamespace,
    image: np.ndarray,
) -> Measured:
    """image: (H, W, 3) float32. gray, counting, mine: functions of lessons 1, 5b and 11."""
    height, width, channels = image.shape
    pixels, launch = height * width, device.launch
    colours, brightness = device.to_device(image), device.empty((height, width))
    gray.launch_over_pixels(gray.grayscale, colours, brightness, launch=launch)
    flat = brightness.reshape(pixels)

    blocks = blocks_for_values(pixels)
    total, largest = device.empty(1), device.empty(1)
    place = device.empty(1, np.int32)
    mine.launch_sum(flat, device.empty(blocks), total, launch=launch)
    mine.launch_max(flat, device.empty(blocks), largest, launch=launch)
    mine.launch_argmax(flat, device.empty(blocks, np.int32), place, launch=launch)
    of_colours = device.empty((1, channels))
    rows = colours.reshape(pixels, channels)
    mine.launch_column_sums(rows, device.empty((blocks, channels)), of_colours, launch=launch)

    counts = device.to_device(np.zeros(BINS, np.int32))
    running, levels = device.empty(BINS, np.int32), device.empty(2, np.int32)
    per_mille = device.to_device(np.array(PER_MILLE, np.int32))
    counting.launch_histogram_shared(flat, counts, launch=launch)
    part_sums = device.empty(parts_for(BINS), np.int32)
    mine.launch_prefix_sum(counts, part_sums, running, launch=launch)
    mine.launch_find_levels(running, per_mille, levels, launch=launch)

    row, column = divmod(int(device.to_host(place)[0]), width)
    dark, bright = device.to_host(levels)
    return Measured(
        mean=float(device.to_host(total)[0]) / pixels,
        brightest=float(device.to_host(largest)[0]),
        brightest_at=(row, column),
        mean_colour=tuple(float(value) / pixels for value in device.to_host(of_colours)[0]),
        counts=device.to_host(counts),
        running=device.to_host(running),
        dark=int(dark),
        bright=int(bright),
    )


def stretched(
    device: Device, mine: SimpleNamespace, image: np.ndarray, found: Measured
) -> np.ndarray:
    """(H, W, 3) float32: the picture with its levels at black and white."""
    colours = device.to_device(image.reshape(-1))
    result = device.empty(image.size)
    levels = device.to_device(np.array([found.dark, found.bright], np.int32))
    mine.launch_stretch(colours, levels, BINS, result, launch=device.launch)
    return device.to_host(result).reshape(image.shape)
