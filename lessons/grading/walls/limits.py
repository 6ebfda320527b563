"""How much memory, time and how large files a worker may use, where the system can bound that."""

import os
import time
from contextlib import suppress
from pathlib import Path

MOST_ROUNDS = 50_000  # of loops in a run on the checked simulator; no exercise needs a tenth of it
GIGABYTE = 1 << 30
MAX_MEMORY = 8 * GIGABYTE  # address space; where a GPU is, its driver reserves far more than this
MAX_DATA_WITH_GPU = 32 * GIGABYTE
MAX_FILE = GIGABYTE // 64
SECONDS_TO_LOOK = 2.0
MAX_CPU_SECONDS = 7200  # the judge's deadlines are far shorter, but the judge may be gone


def limit_resources(has_gpu: bool) -> None:
    """Bound what a file may use, where the system can: memory, the size of files, no core dump."""
    try:
        import resource
    except ImportError:  # Windows; the judge's timeout still holds there
        return
    with suppress(OSError):  # short of memory, Linux ends a worker, and not the judge
        Path("/proc/self/oom_score_adj").write_text("1000")
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: MAX_FILE,
        resource.RLIMIT_CPU: MAX_CPU_SECONDS,
    }
    if has_gpu:
        limits[resource.RLIMIT_DATA] = MAX_DATA_WITH_GPU
    else:
        limits[resource.RLIMIT_AS] = min(MAX_MEMORY, physical_memory() * 3 // 4)
    for kind, limit in limits.items():
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            limit = min(limit, hard)
        try:
            resource.setrlimit(kind, (limit, limit))
        except (ValueError, OSError):  # a system that does not know this limit
            continue


def physical_memory() -> int:
    """Bytes of the machine; `MAX_MEMORY` times two where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 2 * MAX_MEMORY


def leave_with(judge: int) -> None:
    """End this process soon after the judge: an endless loop would go on without it."""
    while os.getppid() == judge:
        time.sleep(SECONDS_TO_LOOK)
    os._exit(1)
