"""Write pictures while the training goes on.

To compress a picture takes as long as thousands of steps on a GPU, and meanwhile Python is free.
"""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np

from kernels.files.images import save_image

THREADS = max(2, min(8, (os.cpu_count() or 2) // 2))
MOST_WAITING = 8  # pictures; a large one takes a hundred megabytes


class PictureWriter:
    """Writes pictures in the order in which they come, some time before `finish` returns."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(THREADS, "pictures")
        self.waiting: list[Future[Any]] = []

    def save(self, path: Path, picture: np.ndarray) -> None:
        """As `save_image`, but later. The picture must not be changed any more."""
        self.later(save_image, path, picture)

    def later(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Call `work(*arguments)`, which draws or writes a picture; its result is there later."""
        if len(self.waiting) >= MOST_WAITING:
            self.finish()
        self.waiting.append(self.pool.submit(work, *arguments))
        return self.waiting[-1]

    def finish(self) -> None:
        """Wait until all are written. Raises the `InputError` of one that could not be."""
        waiting, self.waiting = self.waiting, []
        wait(waiting)
        for written in waiting:
            written.result()
