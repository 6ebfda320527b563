"""What a trainer may ask of a backend, whichever it is.

    name        what it runs                                           where
    cpu         the CPU's own step, on every core                      cpu_backend.py
    cuda        the staged kernels, one launch after another           staged_backends.py
    graph       the same kernels, recorded as a CUDA graph             graph_backend.py
    tensor      two fused kernels per step, on tensor cores            gpu_backends.py
    persistent  all steps in one kernel, on tensor cores               persistent_backends.py
    native      the staged kernels, compiled for the CPU               lessons/native_backend.py

All draw the same batches from the same seed. They add float32 numbers in different orders, so their
losses agree to about 1 part in 500 after 100 steps (a little less on tensor cores, which multiply
numbers of 16 bits), not to the last bit.
"""

from typing import NamedTuple, Protocol

import numpy as np

from kernels.config import Config
from kernels.state import State


class Backend(Protocol):
    """Holds the parameters of one run on one image, and trains them.

    name: what `--backend` calls it. partitions: how many parts the batch is divided into; a
    resumed run has to keep the number. deterministic: whether it was asked to give the same bits
    wherever it can. samples_per_chunk: about how many samples to train on before looking up (for
    Ctrl-C, say).
    """

    name: str
    partitions: int
    deterministic: bool
    samples_per_chunk: int

    @property
    def device(self) -> str:
        """What the backend runs on, in words."""

    def run(self, first_step: int, learning_rates: np.ndarray) -> None:
        """Train one step for each row of learning_rates (n, 2): the MLP's and the grid's.

        first_step: the number of the first of them, from 1. With n = 0 it only compiles.
        """

    def take_losses(self) -> list[float]:
        """Mean squared errors of the steps since the last call: numbers to be added up.

        Some backends add them up already, and return one number for many steps.
        """

    def state(self) -> State:
        """A copy of the parameters and of Adam's memory, on the host."""

    def feature_grid(self) -> np.ndarray:
        """A copy of the feature grid, on the host: (gh, gw, 3) float32."""

    def render(self, width: int, height: int) -> np.ndarray:
        """What the network paints: (height, width, 3) float32 in [0, 1]."""

    def mean_squared_error(self) -> float:
        """Of what the network paints against the image: over all pixels and colours."""

    def bilinear_baseline(self, image: np.ndarray, width: int, height: int) -> np.ndarray:
        """`image` made smaller, to width x height pixels, and as large again; same shape, float32.

        No network takes part: this is what a feature grid of that size can do on its own.
        """


class BackendFactory(Protocol):
    """What makes a backend: one of the classes, or a `functools.partial` of one."""

    def __call__(
        self, image: np.ndarray, config: Config, state: State, partitions: int | None = None
    ) -> Backend:
        """image: (H, W, 3) float32 in [0, 1]. state: where to begin; it is copied.

        partitions: None, or the number that the resumed run began with.
        """


class ChosenBackend(NamedTuple):
    """What will train.

    explanation: one line for the user that says what was taken and why. steps, batch: how long a
    run is and how many samples a step takes, unless the user says otherwise.
    """

    name: str
    factory: BackendFactory
    explanation: str
    steps: int = Config.steps
    batch: int = Config.batch
