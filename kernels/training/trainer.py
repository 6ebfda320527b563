"""The trainer: owns a run, and takes the stages through it in their order, step by step."""

import math
import time
from collections.abc import Callable

import numpy as np

from kernels.config import Config
from kernels.files.psnr import psnr_of_loss
from kernels.plumbing.errors import InputError
from kernels.state import State, initial_state
from kernels.training.backend import BackendFactory
from kernels.training.best_grid import best_grid, enlarge
from kernels.training.checkpoint import RunProgress

# The limit for small batches, where `samples_per_chunk` alone would allow millions of steps: each
# of them moves the whole grid.
MAX_STEPS_PER_CHUNK = 4096
# Painting and comparing a pixel takes about a third of the time of training on a sample.
COST_OF_A_PIXEL = 1 / 3
MEASURING_SHARE = 0.03  # of the time of the training; measuring may not take more


class Trainer:
    """A run of `config.steps` steps on one image.

    image: (H, W, 3) float32 in [0, 1]. backend_factory: makes what trains, see `backend`.
    progress, state: from a checkpoint, to go on from there; left out, the run starts at step 0.
    """

    def __init__(
        self,
        image: np.ndarray,
        config: Config,
        backend_factory: BackendFactory,
        progress: RunProgress | None = None,
        state: State | None = None,
    ) -> None:
        self.image = image
        self.config = config
        self.backend_factory = backend_factory
        self.progress = progress or RunProgress()
        self.backend = backend_factory(
            image, config, state or initial_state(config), self.progress.partitions
        )
        self.progress.partitions = self.backend.partitions

    @property
    def step(self) -> int:
        """How many steps are done."""
        return self.progress.step

    def compile(self) -> None:
        """Run no step at all and paint once: all is compiled before the clock starts."""
        self.backend.run(1, self.learning_rates(1, 0))
        self.backend.mean_squared_error()

    def learning_rates(self, first_step: int, count: int) -> np.ndarray:
        """(count, 2) float32: the MLP's and the grid's learning rate of each step."""
        config = self.config
        rates = [
            (config.learning_rate_mlp * factor, config.learning_rate_grid * factor)
            for factor in map(config.learning_rate_factor, range(first_step, first_step + count))
        ]
        return np.array(rates, np.float32).reshape(count, 2)

    def advance(self, to_step: int, interrupted: Callable[[], bool] = lambda: False) -> None:
        """Train until `to_step` is done, or until `interrupted()` says so between two chunks."""
        steps = self.backend.samples_per_chunk // self.config.batch
        chunk = min(max(1, steps), MAX_STEPS_PER_CHUNK)
        while self.step < to_step and not interrupted():
            count = min(chunk, to_step - self.step)
            rates = self.learning_rates(self.step + 1, count)
            begin = time.perf_counter()
            self.backend.run(self.step + 1, rates)
            self.progress.pending.extend(self.backend.take_losses())
            self.progress.seconds += time.perf_counter() - begin
            self.progress.pending_steps += count
            self.progress.step += count

    def log(self) -> float:
        """Close a log entry: the mean loss since the last one.

        Raises `InputError` if it is not finite.
        """
        progress = self.progress
        loss = sum(progress.pending) / progress.pending_steps
        if not math.isfinite(loss):
            raise InputError(
                f"the loss is not a number any more (step {progress.step:,}): training diverged; "
                "try smaller learning rates, such as --lr-mlp 0.001 --lr-grid 0.01"
            )
        progress.history.append((progress.step, loss))
        progress.pending, progress.pending_steps = [], 0
        return loss

    def psnr(self) -> float:
        """The PSNR of the whole picture as it is now, in dB."""
        if self.progress.measured and self.progress.measured[-1][0] == self.step:
            return self.progress.measured[-1][1]
        return psnr_of_loss(self.backend.mean_squared_error())

    def measure(self) -> None:
        """Note the PSNR of the whole picture at this step."""
        self.progress.measured.append((self.step, self.psnr()))

    def render(self, longest: int | None = None) -> np.ndarray:
        """What the network paints: (height, width, 3) float32 in [0, 1], as large as the image.

        longest: if given, the longer side has at most so many pixels.
        """
        height, width, _ = self.image.shape
        scale = min(1.0, (longest or math.inf) / max(width, height))
        return self.backend.render(max(1, round(width * scale)), max(1, round(height * scale)))

    def baseline(self) -> np.ndarray:
        """What bilinear interpolation makes of a grid of the same size, without any network.

        The grid is the image made smaller.
        """
        return self.backend.bilinear_baseline(
            self.image, self.config.grid_width, self.config.grid_height
        )

    def best_baseline(self) -> np.ndarray:
        """The same of the one grid, among all of that size, that comes nearest to the image."""
        height, width, _ = self.image.shape
        grid = best_grid(self.image, self.config.grid_width, self.config.grid_height)
        return enlarge(grid, width, height)


# ---------------------------------------------------------------- at which steps it paints


def measured_steps(steps: int, batch: int, pixels: int) -> set[int]:
    """When the PSNR of the whole picture is measured: 1, 2, 3, ... 10, 20, 30, ..., and at the end.

    pixels: of the picture. If measuring would take too much of a run's time: 1, 2, 5, 10, 20, ...,
    or at last 1, 10, 100, ...
    """
    affordable = MEASURING_SHARE * steps * batch / (COST_OF_A_PIXEL * pixels)
    for digits in (range(1, 10), (1, 2, 5)):
        chosen = round_steps(steps, digits)
        if len(chosen) <= affordable:
            return chosen
    return round_steps(steps, (1,))


def frame_steps(steps: int) -> set[int]:
    """When the animation gets a picture: 1, 2, 5, 10, 20, 50, ..., and at the end."""
    return round_steps(steps, (1, 2, 5))


def round_steps(steps: int, digits: range | tuple[int, ...]) -> set[int]:
    """Steps up to `steps` that are one of the digits and zeros, and `steps` itself."""
    powers = [10**power for power in range(len(str(steps)))]
    return {digit * power for digit in digits for power in powers if digit * power < steps} | {
        steps
    }
