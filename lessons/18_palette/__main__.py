"""Paint a picture in few colours, chosen for it: `python -m lessons.18_palette`."""

import kernels.plumbing.supported_python  # noqa: F401  isort: skip
from kernels.plumbing.program import prepare

if __name__ == "__main__":
    prepare()  # now, since the imports below take a second

from argparse import ArgumentParser

import numpy as np
from PIL import Image

from kernels.files.images import to_uint8
from kernels.files.pictures import panels
from kernels.files.plot import PSNR
from kernels.files.psnr import psnr, psnr_label, psnr_of_loss
from kernels.palette.learner import Arrays, Stages, first_centres, make_arrays, one_round
from lessons.capstones.command import Command, add_image_and_limit, picture_to_learn, whole_number
from lessons.capstones.device import Device
from lessons.capstones.run import Run

ROUNDS = 20
MOST_COLOURS = 256
FILES = "painted.png", "palette.png", "panels.png"
SWATCH = 24  # pixels on a side of a colour in palette.png
SHOWN = 0, 1, 2, 3, 5, 7  # rounds that the page shows beside each tenth


def add_options(parser: ArgumentParser) -> None:
    add_image_and_limit(parser)
    parser.add_argument(
        "--colours", type=whole_number(2, MOST_COLOURS), default=32, metavar="N",
        help="how many colours the palette has (default: 32)",
    )  # fmt: skip


def work(run: Run) -> str:
    image = picture_to_learn(run.options.image, run.options.limit)
    count, device = run.options.colours, run.device
    stages = run.stages.fill(Stages())
    run.say(
        f"{image.shape[1]} x {image.shape[0]} pixels, {count} colours, with the kernels of "
        f"{run.author}, on {device.description}"
    )
    others = quantised(image, count)
    found = {name: psnr(picture, image) for name, picture in others.items()}
    baseline = found["median cut"]
    with run.writing(*FILES, inputs=[run.options.image]):
        points = image.reshape(-1, 3).copy()
        run.patiently("compiling", lambda: rehearse(stages, points[:1], device))
        arrays = make_arrays(points, count, device.to_device)
        first_centres(stages, arrays, run.options.seed, device.launch)
        learn(run, stages, arrays, image)
        painted, colours = result(stages, arrays, image, device)
        reached = psnr(painted, image)
        run.log(run.step, loss=float(10 ** (-reached / 10)), psnr_db=reached)
        run.show(run.step, painted, reached)
        shown = {**others, "k-means": np.clip(painted, 0, 1)}
        titles = [f"{name}\n{psnr_label(psnr(one, image))}" for name, one in shown.items()]
        run.save_picture("painted.png", shown["k-means"])
        run.save_picture("palette.png", swatches(colours))
        run.save_picture("panels.png", panels([*shown.values()], titles))
        run.finish(
            {
                "image": run.options.image.name,
                "width": image.shape[1],
                "height": image.shape[0],
                "colours": count,
                "psnr_db": reached,
                "baseline_psnr_db": baseline,
                "octree_psnr_db": found["octree"],
            },
            PSNR._replace(loss="mean squared error of the painted picture", baseline="median cut"),
            baseline,
            {"median cut": others["median cut"], "original": image},
        )
    return (
        f"PSNR {psnr_label(reached)} with {count} colours after {run.step:,} rounds, "
        f"{run.seconds:.1f} s; median cut has {psnr_label(baseline)}, an octree "
        f"{psnr_label(found['octree'])}"
    )


def rehearse(stages: Stages, point: np.ndarray, device: Device) -> None:
    """Run every kernel once, on one point: what is compiled does not count as training."""
    arrays = make_arrays(point, 1, device.to_device)
    first_centres(stages, arrays, 0, device.launch)
    one_round(stages, arrays, device.launch, device.to_device)
    device.synchronize()


def learn(run: Run, stages: Stages, arrays: Arrays, image: np.ndarray) -> None:
    """Round after round, until the last one or an interruption."""
    device = run.device
    for step in run.steps(unit="round"):
        if step - 1 in SHOWN or step % 10 == 0:
            with run.aside():
                painted, _ = result(stages, arrays, image, device)
                run.show(step - 1, painted, psnr(painted, image))
        one_round(stages, arrays, device.launch, device.to_device)
        with run.aside():
            # Of the colours before they have moved.
            loss = float(device.to_host(arrays.distances).mean(dtype=np.float64)) / 3
            run.log(step, loss=loss, psnr_db=psnr_of_loss(loss))


def result(
    stages: Stages, arrays: Arrays, image: np.ndarray, device: Device
) -> tuple[np.ndarray, np.ndarray]:
    """The painted picture (H, W, 3) and the colours (k, 3), those of most pixels first."""
    stages.assign(*arrays[:4], launch=device.launch)  # all but the winners
    centres, labels = device.to_host(arrays.centres), device.to_host(arrays.labels)
    used = np.bincount(labels, minlength=len(centres))
    return centres[labels].reshape(image.shape), centres[np.argsort(-used, kind="stable")]


def quantised(image: np.ndarray, count: int) -> dict[str, np.ndarray]:
    """The picture as Pillow paints it in so many colours: (H, W, 3), float in [0, 1]."""
    pixels, plain = Image.fromarray(to_uint8(image)), Image.Dither.NONE
    ways = {"octree": Image.Quantize.FASTOCTREE, "median cut": Image.Quantize.MEDIANCUT}
    return {
        name: np.asarray(pixels.quantize(count, way, dither=plain).convert("RGB"), np.float32) / 255
        for name, way in ways.items()
    }


def swatches(colours: np.ndarray) -> np.ndarray:
    """The colours (k, 3) as squares in rows of up to 16; what is left of the last row is white."""
    columns = min(len(colours), 16)
    cells = np.ones((-(-len(colours) // columns) * columns, 3), np.float32)
    cells[: len(colours)] = np.clip(colours, 0, 1)
    return cells.reshape(-1, columns, 3).repeat(SWATCH, 0).repeat(SWATCH, 1)


COMMAND = Command(
    "18_palette", "Paint a picture in few colours, chosen for it.", work, ROUNDS, add_options
)

if __name__ == "__main__":
    COMMAND.start()
