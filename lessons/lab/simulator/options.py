"""The options of `checked_run` and `checked`: what a run checks, counts, keeps and repeats."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..numba_types import Number
from .schedules import Schedule, Schedules
from .watch import Computed

BUDGET = 3_000_000

Dimensions: TypeAlias = int | tuple[int, ...]


class Options(NamedTuple):
    """What a user may ask of a checked run. All are given by name, and none has to be.

    What runs:

    dynamic_shared: bytes of dynamic shared memory per block.
    only_blocks: numbers of the blocks to run, for a launch that is too large to run whole; x runs
        fastest. With inputs made by `np.broadcast_to`, which take no memory, this shows what
        happens at index 2^31. The results are those of a part of the launch, so nothing can be
        recorded or compared.
    budget: rounds of loops, of all threads together in step, before a kernel counts as endless.

    What is compared:

    schedule: None runs all threads in step. "reverse" or a number (the seed of a random schedule
        of warps, blocks and threads) runs that schedule as well; a list runs all of its schedules.
        A result that depends on the schedule is a finding of kind "order". The arrays keep the
        result of the first run.
    other_shapes: more (grid, block) pairs that should give the same result; a different result
        is a finding of kind "order", too.
    same_bits: whether float sums that differ by rounding under another schedule are a finding.

    What is checked:

    accept: whether comments such as `# lab: allow race - the reason` are obeyed.
    kinds: the kinds of findings to keep; None keeps all.
    without: kinds to leave out, such as "slow". A kind that is left out is only counted.
    expect_written: names of array arguments ("out", "parameters.grid") of which the kernel should
        write every element; an element that stays unwritten is a finding.
    uninitialised: names of arrays that hold garbage, as those of `cuda.device_array` do; reading
        an element before it is written is a finding. A dict gives per array a bool array of its
        shape: which elements have been written already. The run brings it up to date.
    negative: whether a negative index counts from the end, as Numba defines it, which is advice;
        if not, it is outside the array. Who asks for that compares results, too: then nothing is
        said of `unwritten` elements.
    unwritten: whether a guard that is wider than the grid is a finding.
    ask_numba: let Numba's own compiler, where it is installed, say whether the kernel compiles. It
        is asked once per kernel and types of arguments, which takes some tens of milliseconds.
        Without it, the lab's rules decide.

    What is counted and kept:

    measure: count the traffic for `report.table()`.
    record: keep the first accesses for `report.picture(path)` and `report.html(path)`.
    watch: is called with each number that the kernel computes; the kernel goes on with the number
        that it returns. Loops are then never compiled.
    """

    schedule: Schedule | Schedules | None = None
    other_shapes: Iterable[tuple[Dimensions, Dimensions]] = ()
    same_bits: bool = False
    measure: bool = True
    record: bool = False
    budget: int = BUDGET
    dynamic_shared: int = 0
    kinds: Iterable[str] | None = None
    without: Iterable[str] = ()
    expect_written: str | Iterable[str] = ()
    uninitialised: str | Iterable[str] | Mapping[str, np.ndarray] = ()
    only_blocks: range | None = None
    negative: bool = True
    unwritten: bool = True
    ask_numba: bool = True
    accept: bool = False
    watch: Callable[[Computed], Number] | None = None


def as_options(given: Mapping[str, Any]) -> Options:
    """Raises `TypeError` for a name that is not an option."""
    for name in given:
        if name not in Options._fields:
            raise TypeError(f"checked_run() got an unexpected keyword argument {name!r}")
    return Options()._replace(**given)
