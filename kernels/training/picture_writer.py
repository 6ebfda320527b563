"""Write pictures while the training goes on.

To compress a picture takes as long as thousands of steps on a GPU, and meanwhile Python is free.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np

from kernels.files.images import save_image

THREADS = 2
MOST_WAITING = 8  # pictures; a large one takes a hundred megabytes


class PictureWriter:
    """Writes pictures in the order in which they come, some time before `finish` returns."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(THREADS, "pictures")
        self.waiting: list[Future[Any]] = []

    def save(self, path: Path, picture: np.ndarray) -> None:
        """As `save_image`, but later. The picture must not be changed any more."""
        self.later(save_image, path, picture)

    def later(self, write: Callable[..., Any], *arguments: Any) -> None:
        """Call `write(*arguments)`, which draws and writes a file."""
        if len(self.waiting) >= MOST_WAITING:
            self.finish()
        self.waiting.append(self.pool.submit(write, *arguments))

    def finish(self) -> None:
        """Wait until all are written. Raises the `InputError` of one that could not be."""
        waiting, self.waiting = self.waiting, []
        wait(waiting)
        for written in waiting:
            written.result()
