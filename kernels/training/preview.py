"""A picture that is renewed while a run trains, for an image viewer that follows the file."""

import time
from pathlib import Path

from PIL import Image

from kernels.files.atomic import write_atomically
from kernels.files.images import to_uint8
from kernels.training.trainer import Trainer

LONGEST_SIDE = 960
# Seconds between two pictures. Where one takes long, the next waits a hundred times as long.
SHORTEST_PAUSE = 2.0
MOST_OF_THE_TIME = 0.01


class Preview:
    """One file, as small and as quick to write as a preview may be."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.due = time.monotonic() + SHORTEST_PAUSE

    def renew_if_due(self, trainer: Trainer) -> None:
        if time.monotonic() >= self.due:
            self.renew(trainer)

    def renew(self, trainer: Trainer) -> None:
        """Write what the network paints now. Raises `InputError` if that is impossible."""
        begin = time.monotonic()
        picture = Image.fromarray(to_uint8(trainer.render(LONGEST_SIDE)))
        write_atomically(self.path, lambda file: picture.save(file, "PNG", compress_level=1))
        end = time.monotonic()
        self.due = end + max(SHORTEST_PAUSE, (end - begin) / MOST_OF_THE_TIME)
