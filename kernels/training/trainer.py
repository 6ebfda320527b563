"""The trainer: owns a run, and takes the stages through it in their order, step by step."""

import hashlib
import math
import time

import numpy as np

from kernels.errors import InputError
from kernels.state import initial_state
from kernels.training.checkpoint import Progress

# Steps run without looking up (for Ctrl-C, say): about this many samples at a time.
SAMPLES_A_CHUNK = 1 << 21
STEPS_A_CHUNK = 4096  # if batches are small: even then a step moves the whole grid


class Trainer:
    """A run of `config.steps` steps on one image.

    image: (H, W, 3) float32 in [0, 1]. backend_class: see `backends`. progress, state: from a
    checkpoint, to go on from there; left out, the run starts at step 0.
    """

    def __init__(self, image, config, backend_class, progress=None, state=None):
        self.image = image
        self.config = config
        self.progress = progress or Progress()
        self.backend = backend_class(
            image, config, state or initial_state(config), self.progress.partitions
        )
        self.progress.partitions = self.backend.partitions

    @property
    def step(self):
        return self.progress.step

    def compile(self):
        """Run no step at all, so that compiling is done before the clock starts."""
        self.backend.run(1, self.learning_rates(1, 0))

    def learning_rates(self, first_step, count):
        """(count, 2) float32: the MLP's and the grid's learning rate of each step."""
        config = self.config
        rates = [
            (config.learning_rate_mlp * factor, config.learning_rate_grid * factor)
            for factor in map(config.learning_rate_factor, range(first_step, first_step + count))
        ]
        return np.array(rates, np.float32).reshape(count, 2)

    def advance(self, to_step, interrupted=lambda: False):
        """Train until `to_step` is done, or until `interrupted()` says so between two chunks."""
        samples = getattr(self.backend, "samples_a_chunk", SAMPLES_A_CHUNK)
        chunk = min(max(1, samples // self.config.batch), STEPS_A_CHUNK)
        while self.step < to_step and not interrupted():
            count = min(chunk, to_step - self.step)
            rates = self.learning_rates(self.step + 1, count)
            begin = time.perf_counter()
            self.backend.run(self.step + 1, rates)
            self.progress.pending.extend(self.backend.take_losses())
            self.progress.seconds += time.perf_counter() - begin
            self.progress.pending_steps += count
            self.progress.step += count

    def log(self):
        """Close a log entry: the mean loss since the last one. Raises `InputError` if not finite."""
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

    def render(self):
        height, width, _ = self.image.shape
        return self.backend.render(width, height)

    def baseline(self):
        """What bilinear interpolation makes of a grid of the same size, without any network."""
        return self.backend.bilinear_baseline(
            self.image, self.config.grid_width, self.config.grid_height
        )


def psnr_of_loss(loss):
    """Peak signal-to-noise ratio in dB of a mean squared error on colours in [0, 1]."""
    return math.inf if loss == 0 else -10 * math.log10(loss)


def psnr(picture, image):
    """PSNR in dB of two float images in [0, 1], before any rounding to 8 bits."""
    difference = picture.astype(np.float64) - image
    return psnr_of_loss(float(np.mean(difference * difference)))


def image_digest(image):
    """A text that two images share only if they are the same."""
    return hashlib.sha256(repr(image.shape).encode() + image.tobytes()).hexdigest()
