"""The fastest backend for each batch: one barrier per step where it fits onto the GPU, else two."""

import numpy as np

from kernels.config import Config
from kernels.fast import persistent_large_batch, persistent_wide
from kernels.fast.cells import SAMPLES, fits, one_barrier_size
from kernels.fast.graph import make_fused_kernels
from kernels.fast.persistent_one_barrier import make_train_one_barrier
from kernels.launch import blocks_for
from kernels.plumbing.front_end import compiled_for_gpu
from kernels.state import State
from kernels.training.devices import adds_four_at_once
from kernels.training.gpu_backends import PersistentBackend, processors
from kernels.training.kernel_arrays import one_barrier_arrays

SAMPLES_AT_ONCE = 3 * 128  # per processor: three blocks of `persistent`, a thread for each sample


class OneBarrierBackend(PersistentBackend):
    """All steps in one kernel, whose blocks wait for each other once per step.

    Gains: whoever reads a parameter moves it, so nobody waits for its owner. Gives up: a cell is
    moved as often as it is read, and a block takes one tile of samples, not several.
    """

    def prepare_kernels(self) -> None:
        _, _, paint, self.paint_threads = make_fused_kernels(*self.variant)
        train, self.threads = make_train_one_barrier(
            self.config.hidden, self.config.layers, self.deterministic
        )
        self.paint, self.train = compiled_for_gpu(paint), compiled_for_gpu(train)
        self.kernels = (self.train,)

    def allocate(self, state: State, corrections: np.ndarray) -> None:
        size = one_barrier_size(self.config.hidden, self.config.layers, self.deterministic)
        self.blocks = max(blocks_for(self.config.batch, SAMPLES), processors())
        self.arrays = self.on_device(one_barrier_arrays(
            self.image, state, corrections, self.blocks, size, self.deterministic
        ))  # fmt: skip
        most = self.most_blocks()
        if most < self.blocks:
            raise RuntimeError(
                f"{self.blocks} blocks must be on the GPU at once, but it holds {most}"
            )


class LargeBatchBackend(PersistentBackend):
    """All steps in one kernel, in whose first part every warp works by itself.

    Gains: between two barriers of the GPU nobody waits for another. Gives up: the way of one
    sample is longer, which decides where there are few.
    """

    def prepare_kernels(self) -> None:
        _, _, paint, self.paint_threads = make_fused_kernels(*self.variant)
        config = self.config
        train, self.threads = persistent_large_batch.make_train_large_batch(
            config.hidden, config.layers, self.deterministic, config.channels
        )
        self.paint, self.train = compiled_for_gpu(paint), compiled_for_gpu(train)
        self.kernels = (self.train,)

    @property
    def samples(self) -> int:
        return persistent_large_batch.BLOCK_SAMPLES


class WideBackend(PersistentBackend):
    """All steps in one kernel, for networks of 128 units, of which every warp owns 16.

    Gains: weights and the sums of their gradients stay in registers for a whole step. Gives up:
    all warps of a block wait for each other between two layers.
    """

    def prepare_kernels(self) -> None:
        config = self.config
        paint, self.paint_threads = persistent_wide.make_paint_wide(
            config.hidden, config.layers, config.channels
        )
        train, self.threads = persistent_wide.make_train_wide(
            config.hidden, config.layers, self.deterministic, config.channels
        )
        self.paint, self.train = compiled_for_gpu(paint), compiled_for_gpu(train)
        self.kernels = (self.train,)

    @property
    def samples(self) -> int:
        return persistent_wide.BLOCK_SAMPLES


def persistent_backend(
    image: np.ndarray,
    config: Config,
    state: State,
    partitions: int | None = None,
    deterministic: bool = False,
) -> PersistentBackend:
    """A `BackendFactory`."""
    kind = kind_for(config)
    return kind(image, config, state, partitions, deterministic)


def kind_for(config: Config) -> type[PersistentBackend]:
    """The fastest for this GPU, network and batch."""
    if persistent_wide.wide_fits(config.hidden, config.layers):
        return WideBackend
    if takes_one_barrier(config):
        return OneBarrierBackend
    return LargeBatchBackend if takes_large_batch(config) else PersistentBackend


def takes_one_barrier(config: Config) -> bool:
    """Whether this GPU can train this network and batch with one barrier per step."""
    usual = config.channels == Config.channels
    fitting = fits(config.hidden, config.layers, config.batch, processors())
    return adds_four_at_once() and usual and fitting


def takes_large_batch(config: Config) -> bool:
    """Whether the batch is more than `persistent` can have on the GPU at once."""
    many = config.batch > SAMPLES_AT_ONCE * processors()
    return (
        adds_four_at_once()
        and many
        and persistent_large_batch.large_batch_fits(config.hidden, config.layers)
    )
