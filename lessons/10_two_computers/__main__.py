"""The lake in gray, at half and at quarter size, from a queue; and what a block's shape decides."""

import kernels.plumbing.supported_python  # noqa: F401  isort: skip
from kernels.plumbing.program import prepare

if __name__ == "__main__":
    prepare()  # now, since the imports below take a second

import time
from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from kernels.files.images import load_image, to_uint8
from kernels.files.style import INK, PAPER, font
from kernels.plumbing.errors import InputError
from kernels.transfers.block_shapes import toy_pattern
from lessons.capstones.command import Command, add_image
from lessons.capstones.run import Run
from lessons.lab import instead_of_gpu
from lessons.lab.host.session import Session

from .shapes_table import HEADER, counted_shapes, timed_shapes
from .timeline import lines_of, timeline_picture

PICTURES = ("gray", "half", "quarter")
FILES = (*(f"{name}.png" for name in PICTURES), "pictures.png", "timeline.png")
FUNCTIONS = (
    "shrink_on_cpu", "shrink_on_gpu", "launch_shrink", "launch_tint", "gray_in_a_queue",
    "gray_in_turns", "gray_half_quarter", "timed_shrink",
)  # fmt: skip
SMALLEST = 16  # pixels of the shorter side
SEVERAL = 4  # photographs in the queue
WATCHED = 32, 48  # height and width of what the lab looks at step by step
TIMED = 50  # launches
MARGIN, CAPTION = 24, 26  # of pictures.png, in pixels


def work(run: Run) -> str:
    image = load_image(run.options.image)
    if min(image.shape[:2]) < SMALLEST:
        raise InputError(f"{run.options.image} is too small: {SMALLEST} pixels on a side at least")
    mine, on_gpu = run.stages("10", FUNCTIONS), run.device.name == "cuda"
    run.say(f"on {run.device.description}" + ("" if on_gpu else ": the lab in place of a GPU"))
    with run.writing(*FILES, inputs=[run.options.image]):
        with nullcontext() if on_gpu else instead_of_gpu(native=True, quiet=True) as session:
            show_toy(run, mine)
            pictures = run.patiently("compiling", lambda: mine.gray_half_quarter(image))
            seconds, agrees = compare(run, mine, pictures[0])
            milliseconds = show_time(run, mine, pictures[0]) if on_gpu else None
        problems = show_steps(run, mine, image)
        shapes = show_shapes(run, mine, pictures[0], image)
        save_pictures(run, pictures)
        run.finish(
            {
                "shapes": shapes,
                "loop_and_kernel_agree": agrees,
                "seconds_of_the_plain_loop": seconds,
                "milliseconds_per_launch": milliseconds,
                "problems": problems + (len(session.problems) if session else 0),
            }
        )
    found = f"; the host reads too early ({problems} found)" if problems else ""
    sizes = ", ".join(f"{picture.shape[1]} x {picture.shape[0]}" for picture in pictures)
    return f"gray, half and quarter: {sizes}{found}"


# ---------------------------------------------------------------- the loop and the kernel


def show_toy(run: Run, mine: SimpleNamespace) -> None:
    toy = toy_pattern()
    expected, small = mine.shrink_on_cpu(toy, 2), mine.shrink_on_gpu(toy, 2)
    for row in small:
        run.say("  " + " ".join(f"{number:3.0f}" for number in row))
    run.say(f"the toy, 16 x 16 by 2, against the plain loop: {tick(expected, small)}")


def compare(run: Run, mine: SimpleNamespace, gray: np.ndarray) -> tuple[float, bool]:
    """(seconds of the plain loop, whether the kernel gives the same bits)."""
    begin = time.perf_counter()
    expected = mine.shrink_on_cpu(gray, 2)
    seconds = time.perf_counter() - begin
    small = mine.shrink_on_gpu(gray, 2)
    run.say(f"the picture by 2, against the plain loop ({seconds:.2f} s): {tick(expected, small)}")
    return seconds, np.array_equal(expected, small)


def tick(expected: np.ndarray, got: np.ndarray) -> str:
    """An ok for the same bits, else what differs."""
    different = int((expected != got).sum()) if expected.shape == got.shape else expected.size
    words = f"{different:,} of {expected.size:,} numbers differ" if different else "the same bits"
    return f"{'NO' if different else 'ok'}, {words}"


def show_time(run: Run, mine: SimpleNamespace, gray: np.ndarray) -> float:
    """Milliseconds per launch of `shrink`, by two events on a GPU."""
    _, milliseconds = mine.timed_shrink(gray, 2, TIMED)
    run.say(f"shrink by 2, by two events: {1000 * milliseconds:.2f} us per launch")
    return milliseconds


# ---------------------------------------------------------------- what the host asks for


def show_steps(run: Run, mine: SimpleNamespace, image: np.ndarray) -> int:
    """Print each request of the host, and draw them. Returns how many problems the lab has found.

    Also where there is a GPU: of that, nobody tells.
    """
    part = np.ascontiguousarray(image[: WATCHED[0], : WATCHED[1]])
    works: dict[str, Callable[[], Any]] = {
        "gray, half and quarter": lambda: mine.gray_half_quarter(part),
        f"{SEVERAL} photographs from a queue": lambda: mine.gray_in_a_queue([part] * SEVERAL),
        f"{SEVERAL} photographs in turns": lambda: mine.gray_in_turns([part] * SEVERAL),
    }
    steps, problems = {}, 0
    for title, asked in works.items():
        session = watched(asked)
        steps[title] = session.order.steps
        run.say("\n" + "\n".join(lines_of(title, session.order.steps)))
        for finding in session.problems:
            run.say(f"  PROBLEM: {session.line_of(finding)}")
        problems += len(session.problems)
    run.save_picture("timeline.png", timeline_picture(steps))
    return problems


def watched(asked: Callable[[], Any]) -> Session:
    """What the lab has seen of the work; what it returns is read as soon as it is there."""
    with instead_of_gpu(native=True, quiet=True) as session:
        results = asked()
        for result in results:
            np.sum(result)
    return session


# ---------------------------------------------------------------- block shapes


def show_shapes(
    run: Run, mine: SimpleNamespace, gray: np.ndarray, image: np.ndarray
) -> list[dict[str, Any]]:
    """Print the table of block shapes. Returns its rows."""
    rows = run.patiently("counting", lambda: counted_shapes(mine, gray, image))
    if run.device.name == "cuda":
        timed_shapes(mine, gray, image, rows, run.device.to_device)
    run.say("\n" + HEADER)
    for row in rows:
        microseconds = row.get("microseconds")
        shape = " x ".join(map(str, row["block"]))
        run.say(
            f"  {row['kernel']:<8} {shape:<10} {row['requests']:9.2f} {row['sectors']:9.1f} "
            f"{row['foretold']:9.2f} " + (f"{microseconds:9.2f}" if microseconds else "        -")
        )
    if run.device.name != "cuda":
        run.say("  (no times: there is no GPU)")
    return rows


def save_pictures(run: Run, pictures: tuple[np.ndarray, ...]) -> None:
    for name, picture in zip(PICTURES, pictures, strict=True):
        run.save_picture(f"{name}.png", picture)
    run.save_picture("pictures.png", sheet_of(pictures))


def sheet_of(pictures: tuple[np.ndarray, ...]) -> np.ndarray:
    """The first on the left, the two smaller ones on the right: (height, width, 3) uint8."""
    gray, half, quarter = (Image.fromarray(to_uint8(picture)) for picture in pictures)
    middle = 2 * MARGIN + gray.width
    height = max(gray.height, half.height + quarter.height + MARGIN + CAPTION)
    sheet = Image.new("RGB", (middle + half.width + MARGIN, height + CAPTION + 2 * MARGIN), PAPER)
    draw = ImageDraw.Draw(sheet)
    below = MARGIN + CAPTION + half.height + MARGIN
    places = ((gray, MARGIN, MARGIN), (half, middle, MARGIN), (quarter, middle, below))
    for name, (picture, x, y) in zip(PICTURES, places, strict=True):
        draw.text((x, y), f"{name}, {picture.width} x {picture.height}", INK, font(16), "la")
        sheet.paste(picture, (x, y + CAPTION))
    return np.asarray(sheet)


COMMAND = Command(
    "10_two_computers",
    "The lake in gray, at half and at quarter size, and what a block's shape decides.",
    work,
    None,
    add_image,
)

if __name__ == "__main__":
    COMMAND.start()
