"""The graph of the staged kernels, with a rounded grid in it: see `few_bits.py`."""

from typing import Any

import numpy as np

from kernels.config import Config
from kernels.launch import on_stream
from kernels.state import State
from kernels.training.few_bits import KERNELS, RoundedGrid, Rounding
from kernels.training.graph_backend import GraphBackend


class GraphFewBits(GraphBackend):
    """`GraphBackend` whose recorded step rounds the grid, and lets the exact one follow."""

    def __init__(
        self,
        image: np.ndarray,
        config: Config,
        state: State,
        partitions: int | None = None,
        rounding: Rounding = KERNELS,
    ) -> None:
        super().__init__(image, config, state, partitions)
        seen, exact = (s.feature_grid.reshape(-1) for s in (self.arrays.parameters, state))
        self.rounded = RoundedGrid(
            seen, exact, config.bits, rounding, self.launch, self.to_device, self.to_host
        )

    def duplicate(self) -> "GraphFewBits":
        rounding = self.rounded.rounding
        return GraphFewBits(self.image, self.config, self.state(), rounding=rounding)

    def launch_step(self, stream: Any) -> None:
        launch = on_stream(stream)
        self.rounded.before_step(launch)
        super().launch_step(stream)
        self.rounded.after_step(launch)

    def state(self) -> State:
        return self.rounded.in_state(super().state())
