"""The same launch under another schedule of its threads: whether it gives the same results."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from .arguments import arrays_of, own_elements
from .findings import Place
from .report import Report
from .teams import (
    Division,
    Launch,
    Team,
    reversed_teams,
    shuffled_teams,
    team_per_thread,
    whole_grid,
)

# Float sums under another schedule differ by rounding; a larger difference is worth reporting.
ROUNDING = 1e-3

Schedule: TypeAlias = str | int
Schedules: TypeAlias = list[Schedule] | tuple[Schedule, ...] | range


def as_schedules(schedule: Schedule | Schedules | None) -> list[Schedule]:
    if schedule is None:
        return []
    return list(schedule) if isinstance(schedule, (list, tuple, range)) else [schedule]


def scheduled_teams(launch: Launch, schedule: Schedule, division: Division) -> list[Team]:
    if schedule == "reverse":
        return reversed_teams(launch) if division is whole_grid else division(launch)[::-1]
    if isinstance(schedule, (int, np.integer)) and schedule >= 0:
        if division is not team_per_thread:
            return shuffled_teams(launch, schedule)
        teams = division(launch)
        random = np.random.Generator(np.random.Philox(schedule))
        return [teams[i] for i in random.permutation(len(teams))]
    raise ValueError(
        f'a schedule is None, "reverse", a seed >= 0, or a list of these, not {schedule!r}'
    )


def compare_results(
    report: Report,
    arguments: Sequence[object],
    again: Sequence[object],
    how: str,
    same_bits: bool = False,
) -> None:
    """Add a finding for each array whose values depend on `how` the kernel ran.

    same_bits: whether floats may not even differ as sums do under another schedule.
    """
    differ = other_bits if same_bits else differing
    results = arrays_of(report.source, again)
    for name, array in arrays_of(report.source, arguments).items():
        first, second = own_elements(array), own_elements(results[name])
        different = np.flatnonzero(differ(first, second))
        if len(different):
            index = tuple(int(i) for i in np.unravel_index(int(different[0]), first.shape))
            report.add(
                "order",
                report.source.tree.lineno,
                f"{name}[{', '.join(map(str, index))}] is {first[index]}, but {second[index]} "
                f"{how}: the result must not depend on which thread comes first",
                name,
                place=Place(array=name, index=index),
            )


def differing(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(n,) bool: which elements are not the same, floats but for the rounding of a sum."""
    if first.dtype.fields:
        parts = [differing(first[name], second[name]) for name in first.dtype.fields]
        return np.any([part.reshape(first.size, -1).any(axis=1) for part in parts], axis=0)
    if first.dtype.kind not in "fc":
        return (first != second).reshape(-1)
    scale = np.nanmax(np.abs(first), initial=0.0) if first.size else 0.0
    close = np.isclose(first, second, rtol=ROUNDING, atol=ROUNDING * scale, equal_nan=True)
    return ~close.reshape(-1)


def other_bits(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(n,) bool: which elements do not have the very same bits."""
    width = first.dtype.itemsize
    bits = [np.ascontiguousarray(array).view(np.uint8) for array in (first, second)]
    return (bits[0] != bits[1]).reshape(-1, width).any(axis=1)
