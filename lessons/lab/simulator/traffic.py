"""Count what the memory system would do for each source line.

A warp's 32 threads make one *request* an instruction. Global memory answers in *sectors* of 32
bytes: 32 neighbouring floats need 4, 32 scattered ones need 32. Shared memory has 32 *banks* of 4
bytes that work side by side: lanes that want different words of one bank wait for each other, and
the request takes as many passes as the busiest bank has words. Lanes that want the same word share
it. Atomics to one address wait for each other always.
"""

from pathlib import Path

import numpy as np

SECTOR_BYTES = 32
BANKS = 32
BANK_BYTES = 4
WARP = 32


class Traffic:
    """Totals of one source line."""

    def __init__(self, text=""):
        self.text = text
        self.reads = 0  # elements of global memory, one a thread
        self.writes = 0
        self.requests = 0  # of global memory, one a warp
        self.sectors = 0
        self.bytes = 0
        self.shared_requests = 0
        self.shared_passes = 0  # without any bank conflict: as many as requests
        self.worst_conflict = 1
        self.atomics = 0
        self.atomic_multiplicity = 0  # most threads of one warp at one address
        self.branches = 0
        self.divergent = 0  # branches whose warp went both ways

    @property
    def sectors_a_request(self):
        return self.sectors / self.requests if self.requests else 0.0

    @property
    def efficiency(self):
        """Bytes that were asked for, of those in the sectors that moved."""
        return min(1.0, self.bytes / (self.sectors * SECTOR_BYTES)) if self.sectors else 0.0


def distinct_in_rows(values, active):
    """Mask of the first of each distinct active value in a row, and the values, sorted by row."""
    nothing = np.iinfo(np.int64).max
    rows = np.sort(np.where(active, values, nothing), axis=1)
    first = rows != nothing
    first[:, 1:] &= rows[:, 1:] != rows[:, :-1]
    return first, rows


def count_global(traffic, address, active, itemsize, kind):
    """address, active: (warps, 32): byte address of each lane, and whether it takes part."""
    first, _ = distinct_in_rows(address // SECTOR_BYTES, active)
    requested, _ = distinct_in_rows(address, active)
    count = int(np.count_nonzero(active))
    traffic.requests += int(np.count_nonzero(active.any(axis=1)))
    traffic.sectors += int(np.count_nonzero(first))
    traffic.bytes += int(np.count_nonzero(requested)) * itemsize
    if kind == "read":
        traffic.reads += count
    else:
        traffic.writes += count


def count_shared(traffic, address, active):
    first, words = distinct_in_rows(address // BANK_BYTES, active)
    row, column = np.nonzero(first)
    bank = words[row, column] % BANKS
    busy = np.bincount(row * BANKS + bank, minlength=len(active) * BANKS).reshape(-1, BANKS)
    passes = busy.max(axis=1)
    traffic.shared_requests += int(np.count_nonzero(passes))
    traffic.shared_passes += int(passes.sum())
    traffic.worst_conflict = max(traffic.worst_conflict, int(passes.max(initial=1)))


def count_atomic(traffic, address, active):
    traffic.atomics += int(np.count_nonzero(active))
    _, rows = distinct_in_rows(address, active)
    for row, count in zip(rows, np.count_nonzero(active, axis=1), strict=True):
        if count:
            most = int(np.unique(row[:count], return_counts=True)[1].max())
            traffic.atomic_multiplicity = max(traffic.atomic_multiplicity, most)


def count_branch(traffic, taken, not_taken):
    """taken, not_taken: (warps, 32) masks of one branch."""
    some, others = taken.any(axis=1), not_taken.any(axis=1)
    traffic.branches += int(np.count_nonzero(some | others))
    traffic.divergent += int(np.count_nonzero(some & others))


HEADINGS = (
    "line", "read", "written", "sectors/request", "efficiency", "shared passes/request",
    "atomics", "same address", "divergent", "source",
)  # fmt: skip


def table(report):
    """One row a source line that touches memory or branches; columns as in `HEADINGS`.

    read, written: elements of global memory. sectors/request: 32-byte sectors that a warp's
    request moved, 4 at best for 4-byte elements. efficiency: part of those bytes that some thread
    asked for. shared passes/request: 1.0 without bank conflicts (in brackets the worst). same
    address: most threads of a warp whose atomics meet. divergent: part of the branches at which a
    warp went both ways.
    """
    rows = [HEADINGS]
    home = report.source.filename
    for (filename, line), traffic in sorted(
        report.traffic.items(), key=lambda item: (item[0][0] != home, item[0])
    ):
        label = str(line) if filename == home else f"{Path(filename).name}:{line}"
        rows.append(table_row(label, traffic))
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADINGS) - 1)]
    lines = []
    for row in rows:
        numbers = "  ".join(cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=True))
        lines.append(f"{numbers}  {row[-1]}".rstrip())
    return "\n".join(lines)


def table_row(label, traffic):
    def or_blank(condition, value):
        return value if condition else ""

    shared = ""
    if traffic.shared_requests:
        shared = f"{traffic.shared_passes / traffic.shared_requests:.1f}"
        if traffic.worst_conflict > 1:
            shared += f" ({traffic.worst_conflict})"
    return (
        label,
        or_blank(traffic.reads, f"{traffic.reads:,}"),
        or_blank(traffic.writes, f"{traffic.writes:,}"),
        or_blank(traffic.requests, f"{traffic.sectors_a_request:.1f}"),
        or_blank(traffic.requests, f"{traffic.efficiency:.0%}"),
        shared,
        or_blank(traffic.atomics, f"{traffic.atomics:,}"),
        or_blank(traffic.atomics, f"{traffic.atomic_multiplicity}"),
        or_blank(traffic.branches, f"{traffic.divergent / max(1, traffic.branches):.0%}"),
        traffic.text,
    )
