"""Arrays that a kernel has to fill, and arrays that hold garbage before it does."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..source import Source
from .arguments import arrays_of
from .findings import Place
from .memory.arrays import ArrayView
from .memory.written import written_now
from .report import Report


def expected_outputs(
    source: Source, arguments: Sequence[object], names: str | Iterable[str]
) -> tuple[str, ...]:
    """The names, each of an array. Raises `ValueError`."""
    names = (names,) if isinstance(names, str) else tuple(names)
    arrays = arrays_of(source, arguments)
    for name in names:
        if name not in arrays:
            raise ValueError(
                f"{source.function.__name__} has no array argument {name!r}; it has "
                f"{', '.join(arrays) or 'none'}"
            )
    return names


def garbage_arrays(
    source: Source,
    arguments: Sequence[object],
    arrays: str | Iterable[str] | Mapping[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """name -> which elements are written already. Raises `ValueError`."""
    names = expected_outputs(source, arguments, arrays)
    here = arrays_of(source, arguments)
    if not isinstance(arrays, Mapping):
        return {name: np.zeros(here[name].shape, bool) for name in names}
    for name, written in arrays.items():
        if written.shape != here[name].shape or written.dtype != np.bool_:
            raise ValueError(f"what is written of {name} must be bool, of shape {here[name].shape}")
    return dict(arrays)


def report_unwritten(
    report: Report, arrays: Mapping[str, ArrayView], expected: Iterable[str]
) -> None:
    """Add a finding for each array of which some elements were to be written and are not."""
    for name in expected:
        unwritten = np.argwhere(~written_now(arrays[name]))
        if not len(unwritten):
            continue
        first = tuple(int(i) for i in unwritten[0])
        others = f" and {len(unwritten) - 1:,} more" if len(unwritten) > 1 else ""
        report.add(
            "unwritten",
            report.source.tree.lineno,
            f"nobody writes {name}[{', '.join(map(str, first))}]{others}, of "
            f"{arrays[name].size:,} elements: is the grid too small, or a guard too strict?",
            name,
            place=Place(array=name, index=first),
        )
