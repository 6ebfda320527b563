"""Count what the memory system would do for each source line.

A warp's 32 threads make one *request* per instruction. Global memory answers in *sectors* of 32
bytes: 32 neighbouring floats need 4, 32 scattered ones need 32. Shared memory has 32 *banks* of 4
bytes that work side by side: lanes that want different words of one bank wait for each other, and
the request takes as many passes as the busiest bank has words. Lanes that want the same word share
it. Atomics to one address wait for each other always.
"""

from dataclasses import dataclass, fields

import numpy as np

from ..source import file_label

SECTOR_BYTES = 32
BANKS = 32
BANK_BYTES = 4
WARP = 32
NOTHING = np.iinfo(np.int64).max  # in place of a value of a thread that does not take part


@dataclass
class Traffic:
    """Totals of one source line; or of what it does to one array."""

    text: str = ""  # of the line
    reads: int = 0  # elements of global memory, one per thread
    writes: int = 0
    requests: int = 0  # of global memory, one per warp
    sectors: int = 0
    bytes: int = 0
    cache_passes: int = 0  # of the first cache, whose banks are those of shared memory
    stored_sectors: int = 0  # of those, by stores and atomics
    atomic_sectors: int = 0  # of those, by atomics
    shared_reads: int = 0  # elements of shared memory, one per thread
    shared_writes: int = 0
    shared_requests: int = 0
    shared_passes: int = 0  # without any bank conflict: as many as requests
    worst_conflict: int = 1
    atomics: int = 0
    atomic_turns: int = 0  # of each warp: most of its threads at one address
    atomic_multiplicity: int = 0  # most threads of one warp at one address
    barriers: int = 0  # of the block, one per warp that waits
    branches: int = 0
    divergent: int = 0  # branches whose warp went both ways

    def add(self, other: "Traffic") -> None:
        """Take the other's totals along."""
        for name in SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in MAXIMA:
            setattr(self, name, max(getattr(self, name), getattr(other, name)))

    @property
    def sectors_per_request(self) -> float:
        return self.sectors / self.requests if self.requests else 0.0

    @property
    def efficiency(self) -> float:
        """Bytes that were asked for, of those in the sectors that moved."""
        return min(1.0, self.bytes / (self.sectors * SECTOR_BYTES)) if self.sectors else 0.0


MAXIMA = "worst_conflict", "atomic_multiplicity"
SUMS = tuple(field.name for field in fields(Traffic) if field.name not in ("text", *MAXIMA))


def totals_of_lines(counted: dict[tuple[str, int, str], Traffic]) -> dict[tuple[str, int], Traffic]:
    """(filename, line) -> its totals, from those by filename, line and array."""
    lines: dict[tuple[str, int], Traffic] = {}
    for (filename, line, _), traffic in counted.items():
        lines.setdefault((filename, line), Traffic(traffic.text)).add(traffic)
    return lines


def distinct_in_rows(values: np.ndarray, active: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mask of the first of each distinct active value in a row, and the values, sorted by row.

    values: (warps, 32) int. active: (warps, 32) bool. So are the two results.
    """
    rows = np.sort(np.where(active, values, NOTHING), axis=1)
    first = rows != NOTHING
    first[:, 1:] &= rows[:, 1:] != rows[:, :-1]
    return first, rows


def count_global(
    traffic: Traffic, address: np.ndarray, active: np.ndarray, itemsize: int, kind: str
) -> None:
    """Count one instruction on global memory; likewise the functions that follow.

    address: (warps, 32) int, the byte address of each lane. active: (warps, 32) bool, whether it
    takes part. itemsize: bytes per element. kind: "read" or "write".
    """
    before = traffic.sectors
    if active.all() and (address[:, 1:] - address[:, :-1] == itemsize).all():
        # Neighbours touch neighbours, as they should: no need to sort.
        first, last = address[:, 0], address[:, -1] + itemsize - 1
        traffic.sectors += int((last // SECTOR_BYTES - first // SECTOR_BYTES + 1).sum())
        traffic.cache_passes += len(address) * max(1, itemsize // BANK_BYTES)
        traffic.bytes += address.size * itemsize
    else:
        requested, rows = distinct_in_rows(address, active)
        sectors = rows // SECTOR_BYTES
        new = rows != NOTHING
        new[:, 1:] &= sectors[:, 1:] != sectors[:, :-1]
        traffic.sectors += int(np.count_nonzero(new))
        passes = passes_of(address // BANK_BYTES, active)
        traffic.cache_passes += int(passes.sum()) * max(1, itemsize // BANK_BYTES)
        traffic.bytes += int(np.count_nonzero(requested)) * itemsize
    count = int(np.count_nonzero(active))
    traffic.requests += int(np.count_nonzero(active.any(axis=1)))
    moved = traffic.sectors - before
    if kind == "read":
        traffic.reads += count
        return
    traffic.writes += count
    traffic.stored_sectors += moved
    if kind == "atomic":
        traffic.atomic_sectors += moved


def passes_of(words: np.ndarray, active: np.ndarray) -> np.ndarray:
    """(warps,) int: passes that each request takes, as many as its busiest bank has words."""
    everybody = active.all()
    lowest = (words if everybody else np.where(active, words, NOTHING)).min(axis=1)
    highest = (words if everybody else np.where(active, words, -1)).max(axis=1)
    passes = (highest >= 0).astype(np.int64)
    # Words less than 32 apart lie in different banks: only the other rows need a closer look.
    wide = highest - lowest >= BANKS
    if wide.any():
        first, words = distinct_in_rows(words[wide], active[wide])
        row, column = np.nonzero(first)
        bank = words[row, column] % BANKS
        busy = np.bincount(row * BANKS + bank, minlength=len(words) * BANKS).reshape(-1, BANKS)
        passes[wide] = busy.max(axis=1)
    return passes


def count_shared(traffic: Traffic, address: np.ndarray, active: np.ndarray, kind: str) -> None:
    count = int(np.count_nonzero(active))
    if kind == "read":
        traffic.shared_reads += count
    elif kind == "write":
        traffic.shared_writes += count
    passes = passes_of(address // BANK_BYTES, active)
    traffic.shared_requests += int(np.count_nonzero(passes))
    traffic.shared_passes += int(passes.sum())
    traffic.worst_conflict = max(traffic.worst_conflict, int(passes.max(initial=0)))


def count_atomic(traffic: Traffic, address: np.ndarray, active: np.ndarray) -> None:
    traffic.atomics += int(np.count_nonzero(active))
    first, rows = distinct_in_rows(address, active)
    # In sorted rows, equal addresses lie side by side: a run of them begins where `first` is.
    column = np.arange(rows.shape[1])
    begin = np.maximum.accumulate(np.where(first, column, 0), axis=1)
    longest = np.where(rows != NOTHING, column - begin + 1, 0).max(axis=1)
    traffic.atomic_turns += int(longest.sum())
    multiplicity = int(longest.max(initial=0))
    traffic.atomic_multiplicity = max(traffic.atomic_multiplicity, multiplicity)


def count_branch(traffic: Traffic, taken: np.ndarray, not_taken: np.ndarray) -> None:
    """taken, not_taken: (warps, 32) masks of one branch."""
    some, others = taken.any(axis=1), not_taken.any(axis=1)
    traffic.branches += int(np.count_nonzero(some | others))
    traffic.divergent += int(np.count_nonzero(some & others))


HEADINGS = (
    "line", "read", "written", "sectors/request", "efficiency", "shared read", "shared written",
    "shared passes/request", "atomics", "same address", "barriers", "divergent", "source",
)  # fmt: skip


def traffic_table(by_line: dict[tuple[str, int], Traffic], kernel_file: str) -> str:
    """One row per source line that touches memory, waits or branches; columns as in `HEADINGS`.

    by_line: (filename, line number) -> its traffic. Lines of other files than the kernel's come
    last, with the file's name.

    read, written: elements of global memory. sectors/request: 32-byte sectors that a warp's
    request moved, 4 at best for 4-byte elements. efficiency: part of those bytes that some thread
    asked for. shared read, shared written: elements of shared memory. shared passes/request: 1.0
    without bank conflicts (in brackets the worst). same address: most threads of a warp whose
    atomics meet. barriers: of a block, one per warp that waits. divergent: part of the branches at
    which a warp went both ways.
    """
    rows: list[tuple[str, ...]] = [HEADINGS]
    for filename, line in sorted(by_line, key=lambda place: (place[0] != kernel_file, place)):
        label = str(line) if filename == kernel_file else f"{file_label(filename)}:{line}"
        rows.append(table_row(label, by_line[filename, line]))
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADINGS) - 1)]
    lines = []
    for row in rows:
        numbers = "  ".join(cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=True))
        lines.append(f"{numbers}  {row[-1]}".rstrip())
    return "\n".join(lines)


def table_row(label: str, traffic: Traffic) -> tuple[str, ...]:
    def or_blank(condition: object, value: str) -> str:
        return value if condition else ""

    return (
        label,
        or_blank(traffic.reads, f"{traffic.reads:,}"),
        or_blank(traffic.writes, f"{traffic.writes:,}"),
        or_blank(traffic.requests, f"{traffic.sectors_per_request:.1f}"),
        or_blank(traffic.requests, f"{traffic.efficiency:.0%}"),
        or_blank(traffic.shared_reads, f"{traffic.shared_reads:,}"),
        or_blank(traffic.shared_writes, f"{traffic.shared_writes:,}"),
        passes_per_request(traffic),
        or_blank(traffic.atomics, f"{traffic.atomics:,}"),
        or_blank(traffic.atomics, f"{traffic.atomic_multiplicity}"),
        or_blank(traffic.barriers, f"{traffic.barriers:,}"),
        or_blank(traffic.branches, f"{traffic.divergent / max(1, traffic.branches):.0%}"),
        traffic.text,
    )


def passes_per_request(traffic: Traffic) -> str:
    if not traffic.shared_requests:
        return ""
    passes = f"{traffic.shared_passes / traffic.shared_requests:.1f}"
    return f"{passes} ({traffic.worst_conflict})" if traffic.worst_conflict > 1 else passes
