"""Auto-contrast of the lake on a foggy morning: a histogram, its running sum, two levels."""

import kernels.plumbing.supported_python  # noqa: F401  isort: skip
from kernels.plumbing.program import prepare

if __name__ == "__main__":
    prepare()  # now, since the imports below take a second

import argparse
from types import SimpleNamespace
from typing import Any

import numpy as np

from kernels.files.images import load_image, to_uint8
from kernels.files.psnr import psnr, psnr_label
from lessons.capstones.command import LAKE, Command, path, whole_number
from lessons.capstones.run import Run

from .bias_gradient import (
    COLUMNS,
    ROWS,
    count_and_time,
    lines_of_table,
    lines_of_times,
    times_of_many,
)
from .contrast_of_a_picture import BINS, Measured, measure, stretched
from .histograms import histogram_picture

FILES = "lake.png", "auto_contrast.png", "histogram.png"
FOG_OF_THE_LAKE, FOG_BRIGHTNESS = 60, 0.8  # per cent; of 1, which is white
FUNCTIONS = (
    "launch_sum", "launch_max", "launch_argmax", "launch_column_sums_by_warps",
    "launch_column_sums_by_blocks", "launch_column_sums", "launch_prefix_sum",
    "launch_find_levels", "launch_stretch",
)  # fmt: skip


def work(run: Run) -> str:
    clear = load_image(run.options.image)
    fog = fog_of(run.options)
    image = in_fog(clear, fog)
    device, mine = run.device, run.stages("11", FUNCTIONS)
    gray = run.stages("1", ["grayscale", "launch_over_pixels"])
    counting = run.stages("5b", ["launch_histogram_shared"])
    run.say(f"on {device.description}")
    with run.writing(*FILES, inputs=[run.options.image]):
        before = run.patiently("compiling", lambda: measure(device, gray, counting, mine, image))
        say_what_was_measured(run, before)
        result = run.patiently("compiling", lambda: stretched(device, mine, image, before))
        after = measure(device, gray, counting, mine, result)
        counted = count(run, mine) if run.options.count else {}
        run.save_picture("lake.png", image)
        run.save_picture("auto_contrast.png", result)
        run.save_picture("histogram.png", histogram_picture(before, after))
        decibels = psnr(image, clear), psnr(result, clear)
        run.finish(
            {
                **before.summary(),
                "psnr_db_before": decibels[0],
                "psnr_db_after": decibels[1],
                **counted,
            }
        )
    verdict = f"bin {before.dark} of {BINS} becomes black, bin {before.bright} white"
    if fog == 0:
        return verdict
    return (
        f"{verdict}: {psnr_label(decibels[0])} before, {psnr_label(decibels[1])} after, against "
        f"{run.options.image.name} without fog"
    )


def count(run: Run, mine: SimpleNamespace) -> dict[str, Any]:
    """Count and print what a bias gradient takes, and on a GPU how long it all takes."""
    table = run.patiently("counting", lambda: count_and_time(run.device, mine))
    lines, found = lines_of_table(table, run.device), {"bias_gradient": table}
    if run.device.name == "cuda":
        found["of_many_numbers"] = run.patiently("timing", lambda: times_of_many(run.device, mine))
        lines += lines_of_times(found["of_many_numbers"])
    for line in lines:
        run.say(line)
    return found


def fog_of(options: argparse.Namespace) -> int:
    """How much of the picture is fog, in per cent: as told, or some on the lake."""
    if options.fog is not None:
        return options.fog
    return FOG_OF_THE_LAKE if options.image == LAKE else 0


def in_fog(image: np.ndarray, per_cent: int) -> np.ndarray:
    """(H, W, 3) float32: the picture as a camera sees it through fog, in steps of 1/255."""
    share = per_cent / 100
    seen = (1 - share) * image + share * FOG_BRIGHTNESS
    return to_uint8(seen).astype(np.float32) / np.float32(255)


def say_what_was_measured(run: Run, found: Measured) -> None:
    colour = ", ".join(f"{value:.3f}" for value in found.mean_colour)
    row, column = found.brightest_at
    run.say(f"mean brightness {found.mean:.4f}, of red, green, blue {colour}")
    run.say(f"brightest {found.brightest:.4f}, in row {row}, column {column}")
    run.say(f"of {found.running[-1]:,} pixels, 5 in 1,000 are in bin {found.dark} or below it,")
    run.say(f"995 in bin {found.bright} or below it")


def add_options(parser: argparse.ArgumentParser) -> None:
    # fmt: off
    parser.add_argument(
        "image", nargs="?", type=path, default=LAKE, metavar="IMAGE",
        help="the picture whose contrast is to be raised (default: the lake)")
    parser.add_argument(
        "--fog", type=whole_number(0, 95), metavar="PERCENT",
        help="fog to put over the picture first, 0 to 95 per cent (default: 60 for the lake, 0 "
        "for a picture of yours)")
    parser.add_argument(
        "--count", action="store_true",
        help=f"also count the atomic additions of a bias gradient of {ROWS:,} x {COLUMNS}, on the "
        "checked simulator, and time it (default: leave that out)")
    # fmt: on


COMMAND = Command(
    "11_many_become_one",
    "Raise the contrast of a picture, by a histogram and its running sum.",
    work,
    add_options=add_options,
)

if __name__ == "__main__":
    COMMAND.start()
