"""Where the seconds of a run go, for `train.py --timings`."""

import time


class Timings:
    """Parts of a run, one after another, each with its seconds.

    begin: what `time.perf_counter` said when the program began.
    """

    def __init__(self, begin: float) -> None:
        self.parts: list[tuple[str, float]] = []
        self.last = begin

    def end_of(self, part: str, without: float = 0.0) -> None:
        """The time since the last part went into this one, but for `without` seconds of it."""
        now = time.perf_counter()
        self.parts.append((part, now - self.last - without))
        self.last = now

    def add(self, part: str, seconds: float) -> None:
        """Seconds that another part is `without`."""
        self.parts.append((part, seconds))

    def table(self) -> str:
        """A line for each part, and their sum."""
        total = sum(seconds for _, seconds in self.parts)
        rows = [*self.parts, ("in all", total)]
        return "\n".join(f"{seconds:9.2f} s  {part}" for part, seconds in rows)
