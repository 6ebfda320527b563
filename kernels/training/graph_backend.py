"""The staged kernels recorded as a CUDA graph; and what every recorded backend needs."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from kernels.config import THREADS, Config
from kernels.launch import blocks_for, on_stream
from kernels.plumbing.front_end import cuda
from kernels.plumbing.recording import (
    FIRST_STEP,
    Recorder,
    adam_grid_by_clock,
    launch_adam_weights_by_clock,
    sample_batch_by_clock,
)
from kernels.state import State
from kernels.training.few_bits import FewBits
from kernels.training.staged_backends import CudaBackend

MAX_STEPS_PER_RUN = 4096  # rows of learning rates that lie on the GPU


def in_parts(
    first_step: int, learning_rates: np.ndarray, longest: int
) -> Iterator[tuple[int, np.ndarray]]:
    """Divide learning_rates (n, 2) into parts of at most `longest` rows.

    Yields (first step of a part, its rows). If there are no rows at all it yields one empty part,
    with which kernels are compiled.
    """
    for begin in range(0, max(1, len(learning_rates)), longest):
        yield first_step + begin, learning_rates[begin : begin + longest]


class StepClock:
    """The step's number and the learning rates, where recorded kernels find them."""

    def __init__(self) -> None:
        self.clock = cuda.to_device(np.zeros(3, np.int64))
        self.learning_rates = cuda.to_device(np.zeros((MAX_STEPS_PER_RUN, 2), np.float32))

    def set(self, first_step: int, learning_rates: np.ndarray) -> None:
        clock = np.zeros(3, np.int64)
        clock[FIRST_STEP] = first_step
        self.clock.copy_to_device(clock)
        rates = np.zeros((MAX_STEPS_PER_RUN, 2), np.float32)
        rates[: len(learning_rates)] = learning_rates
        self.learning_rates.copy_to_device(rates)


class Recorded(ABC):
    """Mixed into a backend whose `launch_step(stream)` is recorded once and then replayed."""

    @abstractmethod
    def launch_step(self, stream: Any) -> None:
        """Launch all kernels of a step, which read its number from the clock."""

    @abstractmethod
    def duplicate(self) -> "Recorded":
        """A backend of the same kind, with copies of all arrays."""

    def prepare_recording(self) -> None:
        self.clock = StepClock()
        self.recorder = Recorder(self.launch_step)

    def run(self, first_step: int, learning_rates: np.ndarray) -> None:
        if not self.recorder.graphs:
            self.rehearse()
            self.recorder.record()
        for first, part in in_parts(first_step, learning_rates, MAX_STEPS_PER_RUN):
            self.clock.set(first, part)
            self.recorder.replay(len(part))

    def rehearse(self) -> None:
        """Launch a step on copies of all arrays: what is recorded must be compiled before."""
        duplicate = self.duplicate()
        duplicate.launch_step(0)
        # Until here the kernels work on arrays that only `duplicate` keeps alive.
        cuda.synchronize()


class GraphBackend(Recorded, CudaBackend):
    """The staged float32 kernels, recorded as a CUDA graph of many steps.

    Gains: nearly all of the launches' cost. Gives up: whatever changes from step to step must be
    read from the GPU's memory, and every array still travels through it between two kernels.
    """

    name = "graph"
    samples_per_chunk = 1 << 24

    def __init__(
        self, image: np.ndarray, config: Config, state: State, partitions: int | None = None
    ) -> None:
        super().__init__(image, config, state, partitions)
        self.prepare_recording()

    def duplicate(self) -> "GraphBackend":
        return GraphBackend(self.image, self.config, self.state())

    def launch_step(self, stream: Any) -> None:
        launch = on_stream(stream)
        arrays, parameters, rates = self.arrays, self.arrays.parameters, self.config.adam_rates
        clock, learning_rates = self.clock.clock, self.clock.learning_rates
        batch, threads = blocks_for(self.config.batch), THREADS
        launch(
            sample_batch_by_clock, batch, threads,
            clock, arrays.image, np.uint64(self.config.seed), arrays.uv, arrays.target,
        )  # fmt: skip
        self.order.evaluate(self.stages, arrays, launch)
        self.stages.backward(
            arrays.uv, arrays.features, arrays.hidden, arrays.outputs, arrays.target,
            parameters.weights, arrays.grad_weights, arrays.grad_feature_grid, arrays.loss_sum,
            launch=launch,
        )  # fmt: skip
        launch_adam_weights_by_clock(
            clock, learning_rates, parameters.weights, arrays.grad_weights,
            parameters.weights_m, parameters.weights_v, arrays.corrections, rates, launch,
        )  # fmt: skip
        launch(
            adam_grid_by_clock, blocks_for(parameters.grid_steps.size), threads,
            clock, learning_rates, parameters.feature_grid, arrays.grad_feature_grid,
            parameters.grid_m, parameters.grid_v, parameters.grid_steps, arrays.corrections,
            rates,
        )  # fmt: skip

    def take_losses(self) -> list[float]:
        # Emptied in place: the recorded kernels know only this array.
        loss = float(self.to_host(self.arrays.loss_sum)[0])
        self.arrays.loss_sum.copy_to_device(np.zeros(1, np.float32))
        return [loss]


class GraphFewBits(FewBits, GraphBackend):
    """The same, whose recorded step rounds the grid, and lets the exact one follow."""

    run = GraphBackend.run

    def duplicate(self) -> "GraphFewBits":
        return GraphFewBits(self.image, self.config, self.state(), rounding=self.rounding)

    def launch_step(self, stream: Any) -> None:
        self.before_step(on_stream(stream))
        super().launch_step(stream)
        self.after_step(on_stream(stream))
