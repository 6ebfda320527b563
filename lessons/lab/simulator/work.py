"""What a run has done besides the traffic of its lines: what `predict` needs to know."""

import ast
from collections import Counter, defaultdict

import numpy as np

from .traffic import SECTOR_BYTES, WARP

BLOCK = 1 << 40  # a block's keys begin at so many times its number
MOST_KEYS = 1 << 22  # before equal ones are thrown away


class Work:
    """Statements that were executed, and which places of global memory were touched.

    A line is one of the kernel: what a device function does counts for the line that calls it.

    executed: (line, statement) -> warps that executed it. requests: (line, space) -> requests of
    memory, one per warp. touched: (array, kind of access) -> keys of sectors, BLOCK * block +
    sector. floats: arrays with atomic operations on floats. shared_bytes: of a block.
    """

    def __init__(self) -> None:
        self.executed: Counter[tuple[int, ast.stmt]] = Counter()
        self.requests: Counter[tuple[int, str]] = Counter()
        self.touched: dict[tuple[str, str], list[np.ndarray]] = defaultdict(list)
        self.floats: set[str] = set()
        self.shared_bytes = 0
        self.last_mask: np.ndarray | None = None
        self.last_warps = 0

    def execute(self, line: int, statement: ast.stmt, mask: np.ndarray) -> None:
        """Threads in `mask`, a team's, execute a statement."""
        if mask is not self.last_mask:
            eights = mask.view(np.uint64).reshape(-1, WARP // 8)
            self.last_mask, self.last_warps = mask, int(np.count_nonzero(eights.any(axis=1)))
        self.executed[line or statement.lineno, statement] += self.last_warps

    def repeat(self, line: int, loop: ast.While | ast.For, rounds: int) -> None:
        """Warps did so many rounds of a loop more, together, which were like those before."""
        first = loop.body[0]
        former = max(1, self.executed[line or first.lineno, first])
        for statement in [s for part in loop.body for s in ast.walk(part)]:
            if isinstance(statement, ast.stmt):
                key = line or statement.lineno, statement
                self.executed[key] += rounds * self.executed[key] // former

    def touch(
        self, array: str, kind: str, address: np.ndarray, active: np.ndarray, block: np.ndarray
    ) -> None:
        """Accesses of a team. address, active: (warps, 32); block: (warps,) int, its number."""
        keys = (address // SECTOR_BYTES + block[:, None].astype(np.int64) * BLOCK)[active]
        found = self.touched[array, kind]
        # Neighbours touch the same sector: without these there is little left to sort.
        found.append(np.unique(keys[np.flatnonzero(np.diff(keys, prepend=-1))]))
        if len(found) > 1 and sum(map(len, found)) > MOST_KEYS:
            found[:] = [np.unique(np.concatenate(found))]

    def sectors(self, array: str, kind: str) -> tuple[int, int]:
        """How many sectors of an array such accesses touched: (each block's own, all different)."""
        keys = np.unique(np.concatenate(self.touched[array, kind]))
        return len(keys), len(np.unique(keys % BLOCK))
