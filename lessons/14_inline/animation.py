"""What has been learned so far, beside the target: as a GIF, and as a film if that can be made."""

import importlib.util
import tempfile
from pathlib import Path

import imageio.v3 as imageio
import numpy as np

from kernels.files.images import to_uint8
from kernels.files.pictures import fit
from kernels.files.psnr import psnr
from lessons.capstones.run import Run

SIDE = 320  # pixels on the longer side of each of the two
GAP = 8
GRAY = 245
FRAMES_PER_SECOND = 6


def can_write_mp4() -> bool:
    """Whether imageio-ffmpeg is there, which writes films: `pip install imageio-ffmpeg`."""
    return importlib.util.find_spec("imageio_ffmpeg") is not None


class Animation:
    """Pictures of one training. target: (H, W, 3) float in [0, 1]."""

    def __init__(self, target: np.ndarray) -> None:
        self.target = target
        self.steps: list[int] = []
        self.psnr: list[float | None] = []
        self.frames: list[np.ndarray] = []

    def add(self, step: int, picture: np.ndarray) -> None:
        """picture: as it is after this step; colours above 1 are shown as 1."""
        self.steps.append(step)
        self.psnr.append(psnr(picture, self.target))
        self.frames.append(self.beside_the_target(np.clip(picture, 0, 1)))

    def beside_the_target(self, picture: np.ndarray) -> np.ndarray:
        """(height, width, 3) uint8; both sides even, as films want it."""
        both = [
            np.asarray(fit(to_uint8(one), SIDE).convert("RGB")) for one in (picture, self.target)
        ]
        height, width, _ = both[0].shape
        frame = np.full((height + height % 2, 2 * width + GAP, 3), GRAY, np.uint8)
        frame[:height, :width] = both[0]
        frame[:height, -width:] = both[1]
        return frame

    def save(self, run: Run) -> None:
        run.save_animation("training.gif", self.frames, self.steps, self.psnr)
        if can_write_mp4():
            film = self.film()
            run.save("training.mp4", lambda file: file.write(film))

    def film(self) -> bytes:
        """The frames as an MP4. It is written by another program, so into a file of its own."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "film.mp4"
            frames = [*self.frames, *[self.frames[-1]] * FRAMES_PER_SECOND]
            imageio.imwrite(
                path, frames, fps=FRAMES_PER_SECOND, macro_block_size=2, plugin="FFMPEG"
            )
            return path.read_bytes()
