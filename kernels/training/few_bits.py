"""Training with few bits per number: the network sees a rounded grid, and an exact one follows.

See `kernels/bits/quantise.py` for why. A backend trains the grid that it holds: that is the rounded
one. After each step the exact one follows what was done to it, and it is rounded anew. So what is
painted is what a `.lake` file will hold.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kernels.bits import quantise
from kernels.state import State


class Rounding(NamedTuple):
    """What rounds numbers, and what moves them: as the two launchers in `kernels.bits.quantise`."""

    quantise: Callable[..., None]
    follow: Callable[..., None]


KERNELS = Rounding(quantise.launch_quantise, quantise.launch_follow)


class RoundedGrid:
    """A grid that a backend holds, always rounded but within a step, and the exact one.

    seen: (n,) float32, the backend's. exact: (n,) float32, on the host. launch: what starts the
    kernels of `rounding`. to_device, to_host: copy an array to where they run, and back.
    """

    def __init__(
        self,
        seen: Any,
        exact: np.ndarray,
        bits: int,
        rounding: Rounding,
        launch: Any = None,
        to_device: Callable[[np.ndarray], Any] = np.array,
        to_host: Callable[[Any], np.ndarray] = np.array,
    ) -> None:
        self.seen, self.values, self.quantised = seen, to_device(exact), to_device(exact)
        self.bits, self.rounding, self.launch, self.to_host = bits, rounding, launch, to_host
        # A step that moves nothing: then all is compiled, and the grid is rounded.
        self.before_step()
        self.rounding.quantise(self.values, bits, seen, launch=launch)
        self.after_step()

    def before_step(self, launch: Any = None) -> None:
        """Keep what is seen, to tell later how far it was moved."""
        launch = launch or self.launch
        self.rounding.quantise(self.values, self.bits, self.quantised, launch=launch)

    def after_step(self, launch: Any = None) -> None:
        launch = launch or self.launch
        self.rounding.follow(self.values, self.quantised, self.seen, launch=launch)
        self.rounding.quantise(self.values, self.bits, self.seen, launch=launch)

    def in_state(self, state: State) -> State:
        """The state with the exact grid: from there a run can go on."""
        grid = self.to_host(self.values).reshape(state.feature_grid.shape)
        return state._replace(feature_grid=grid)


class FewBits:
    """Mixed in before a backend, which it asks for one step at a time."""

    rounded: RoundedGrid

    def run(self, first_step: int, learning_rates: np.ndarray) -> None:
        run: Any = super()
        if len(learning_rates) == 0:
            run.run(first_step, learning_rates)
        for step, rates in enumerate(learning_rates, first_step):
            self.rounded.before_step()
            run.run(step, rates[np.newaxis])
            self.rounded.after_step()

    def state(self) -> State:
        usual: Any = super()
        return self.rounded.in_state(usual.state())
