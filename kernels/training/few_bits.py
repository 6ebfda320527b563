"""Training with few bits per number: the network sees a rounded grid, and an exact one follows.

See `kernels/bits/quantise.py` for why. A backend trains the grid that it holds: that is the rounded
one. After each step the exact one follows what was done to it, and it is rounded anew. So what is
painted is what a `.lake` file will hold.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kernels.bits import quantise
from kernels.config import Config
from kernels.state import State


class Rounding(NamedTuple):
    """What rounds numbers, and what moves them: as the two launchers in `kernels.bits.quantise`."""

    quantise: Callable[..., None]
    follow: Callable[..., None]


KERNELS = Rounding(quantise.launch_quantise, quantise.launch_follow)


class FewBits:
    """Mixed in before a backend: what it holds as its grid is rounded, and an exact one follows.

    The backend has the five below as a `StagedBackend` has them; it is asked for one step at a
    time. given, by_name: what it is made with. rounding, launch: what rounds numbers, and what
    starts that, unless those of the class do.
    """

    rounding: Rounding = KERNELS
    config: Config
    parameters: Any
    launch: Any
    to_device: Any
    to_host: Any

    def __init__(
        self, *given: Any, rounding: Rounding | None = None, launch: Any = None, **by_name: Any
    ) -> None:
        backend: Any = super()
        backend.__init__(*given, **by_name)
        self.rounding, self.launch = rounding or self.rounding, launch or self.launch
        self.bits = self.config.bits
        self.seen = self.parameters.feature_grid.reshape(-1)
        exact = self.to_host(self.seen)
        self.values, self.quantised = self.to_device(exact), self.to_device(exact)
        # A step that moves nothing: then all is compiled, and the grid is rounded.
        self.before_step(self.launch)
        self.rounding.quantise(self.values, self.bits, self.seen, launch=self.launch)
        self.after_step(self.launch)

    def before_step(self, launch: Any) -> None:
        """Keep what is seen, to tell later how far it was moved."""
        self.rounding.quantise(self.values, self.bits, self.quantised, launch=launch)

    def after_step(self, launch: Any) -> None:
        self.rounding.follow(self.values, self.quantised, self.seen, launch=launch)
        self.rounding.quantise(self.values, self.bits, self.seen, launch=launch)

    def run(self, first_step: int, learning_rates: np.ndarray) -> None:
        backend: Any = super()
        if len(learning_rates) == 0:
            backend.run(first_step, learning_rates)
        for step, rates in enumerate(learning_rates, first_step):
            self.before_step(self.launch)
            backend.run(step, rates[np.newaxis])
            self.after_step(self.launch)

    def state(self) -> State:
        """With the exact grid: from there a run can go on."""
        backend: Any = super()
        usual = backend.state()
        grid = self.to_host(self.values).reshape(usual.feature_grid.shape)
        return usual._replace(feature_grid=grid)
