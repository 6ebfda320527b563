"""The fastest backend: one barrier per step where the batch fits onto the GPU, else two."""

import numpy as np

from kernels.config import Config
from kernels.fast.arrays import one_barrier_arrays
from kernels.fast.graph import make_fused_kernels
from kernels.fast.one_barrier import make_train
from kernels.fast.owners import SAMPLES, fits, one_barrier_size
from kernels.front_end import compiled_for_gpu, cuda
from kernels.launch import blocks_for
from kernels.state import State
from kernels.training.gpu_backends import PersistentBackend, processors


class OneBarrierBackend(PersistentBackend):
    """All steps in one kernel, whose blocks wait for each other once per step.

    Gains: whoever reads a parameter moves it, so nobody waits for its owner. Gives up: a cell is
    moved as often as it is read, and a block takes one tile of samples, not several.
    """

    def prepare_kernels(self) -> None:
        _, _, paint, self.paint_threads = make_fused_kernels(*self.variant)
        train, self.threads = make_train(self.config.hidden, self.config.layers, self.deterministic)
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


def persistent_backend(
    image: np.ndarray,
    config: Config,
    state: State,
    partitions: int | None = None,
    deterministic: bool = False,
) -> PersistentBackend:
    """A `BackendFactory`."""
    kind = OneBarrierBackend if takes_one_barrier(config) else PersistentBackend
    return kind(image, config, state, partitions, deterministic)


def takes_one_barrier(config: Config) -> bool:
    """Whether this GPU can train this network and batch with one barrier per step."""
    # Older GPUs add one float at a time.
    new_enough = cuda.get_current_device().compute_capability >= (9, 0)
    usual = config.channels == Config.channels
    return new_enough and usual and fits(config.hidden, config.layers, config.batch, processors())
