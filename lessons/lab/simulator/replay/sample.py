"""Which threads and which steps of a run the replay shows, if it cannot show all."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...dimensions import Dim3, volume
from ..events import Step
from ..findings import Finding


class Limits(NamedTuple):
    """How much of a run to show at most."""

    threads: int
    steps: int


def threads_of(finding: Finding, grid: Dim3, block: Dim3) -> list[int]:
    """Numbers in the launch of the threads that a finding is about: the one, then the other."""
    found = []
    for thread, in_block in (
        (finding.thread, finding.block),
        (finding.other_thread, finding.other_block),
    ):
        if thread is not None and in_block is not None:
            found.append(linear(in_block, grid) * volume(block) + linear(thread, block))
    return found


def linear(coordinates: Dim3, sizes: Dim3) -> int:
    """(x, y, z) as one number, x running fastest."""
    x, y, z = coordinates
    return x + sizes[0] * (y + sizes[1] * z)


def shown_threads(
    steps: Sequence[Step], important: Sequence[int], per_block: int, most: int
) -> np.ndarray:
    """(n,) int, sorted: whole blocks, first those of the important threads, up to `most` threads.

    important: numbers in the launch. per_block: threads of a block. At least one block is shown;
    of a block with more than `most` threads, its first ones and the warps of the important ones.
    """
    seen = [np.unique(step.thread // per_block) for step in steps]
    blocks = [thread // per_block for thread in important]
    blocks += np.unique(np.concatenate(seen)).tolist() if seen else []
    chosen = list(dict.fromkeys(blocks))[: max(1, most // per_block)]
    if len(chosen) == 1 and per_block > most:
        first = chosen[0] * per_block
        of_warps = [thread // 32 * 32 for thread in important if thread // per_block == chosen[0]]
        parts = [np.arange(first, first + most)]
        parts += [np.arange(warp, min(warp + 32, first + per_block)) for warp in of_warps[:4]]
        return np.unique(np.concatenate(parts))
    parts = [np.arange(block * per_block, (block + 1) * per_block) for block in sorted(chosen)]
    return np.concatenate(parts) if parts else np.arange(0)


def shown_steps(important: Sequence[int], count: int, most: int) -> list[int]:
    """Numbers of at most `most` of `count` steps: the first, and those before important ones."""
    if count <= most:
        return list(range(count))
    chosen: set[int] = set()
    if important:
        each = max(2, most // 2 // len(important))
        for number in important[: most // 2]:
            chosen.update(range(max(0, number - each + 2), min(count, number + 2)))
    for number in range(count):
        if len(chosen) >= most:
            break
        chosen.add(number)
    return sorted(chosen)


def unpadded(step: Step, padded: int, per_block: int) -> Step:
    """With threads numbered without those that fill up a block's last warp."""
    return step._replace(thread=step.thread // padded * per_block + step.thread % padded)


def only(step: Step, threads: np.ndarray) -> Step:
    """What these threads do in a step."""
    mine = np.isin(step.thread, threads)
    if mine.all():
        return step
    return step._replace(
        thread=step.thread[mine],
        element=None if step.element is None else step.element[mine],
        values=[values[mine] for values in step.values],
        wanted=None if step.wanted is None else step.wanted[mine],
    )
