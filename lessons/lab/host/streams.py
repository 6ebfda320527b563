"""Streams and events, as `numba.cuda` has them, that only keep account of what waits for what."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import InputError
from .order import DEFAULT, HOST, Known, Order


class Stream:
    """A queue of copies and launches."""

    def __init__(self, order: Order, number: int) -> None:
        self.order = order
        self.number = number
        self.handle = number

    def __bool__(self) -> bool:
        return self.number != DEFAULT

    def __int__(self) -> int:
        return self.number

    def __repr__(self) -> str:
        return f"<stream {self.number}>" if self.number else "<the default stream>"

    def synchronize(self) -> None:
        """The host waits until all that was queued here is done."""
        self.order.wait_for_stream(HOST, self.number)

    @contextmanager
    def auto_synchronize(self) -> Iterator["Stream"]:
        yield self
        self.synchronize()

    def add_callback(self, callback: Callable[..., Any], arg: object = None) -> None:
        """Work runs as soon as it is queued here, so the callback does, too."""
        callback(self, 0, arg)

    def async_done(self) -> Any:
        raise InputError("stream.async_done is not known to the lab; use stream.synchronize()")


class Event:
    """A mark in a stream that others can wait for."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.mark: Known | None = None
        self.time = 0.0

    def record(self, stream: Any = 0) -> None:
        self.mark = self.order.snapshot(number_of(stream))
        self.time = time.perf_counter()

    def wait(self, stream: Any = 0) -> None:
        """What is queued on the stream from now on comes after the mark."""
        if self.mark is not None:
            self.order.wait_for(number_of(stream), self.mark)

    def synchronize(self) -> None:
        """The host waits until the mark is reached."""
        if self.mark is not None:
            self.order.wait_for(HOST, self.mark)

    def query(self) -> bool:
        """Whether the mark is reached: here it is, and from now on the host knows."""
        self.synchronize()
        return True

    def elapsed_time(self, end: "Event") -> float:
        """Milliseconds between two marks: of the simulation, which tells nothing of a GPU."""
        return (end.time - self.time) * 1000


def number_of(stream: Any) -> int:
    """The number of a stream; of what numba takes for none, the default stream's."""
    return stream.number if isinstance(stream, Stream) else DEFAULT
