"""Streams and events, as `numba.cuda` has them, that only keep account of what waits for what."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import InputError
from .fixed import Fixed
from .order import DEFAULT, HOST, EventWait, Known, Order
from .places import HostPlace, host_place
from .steps import RECORD, STREAM_WAITS, TIME, Step


class Stream(metaclass=Fixed):
    """A queue of copies and launches."""

    def __init__(self, order: Order, number: int) -> None:
        self._lab_order = order
        self._lab_number = number

    @property
    def number(self) -> int:
        return self._lab_number

    handle = number

    def __bool__(self) -> bool:
        return self._lab_number != DEFAULT

    def __int__(self) -> int:
        return self._lab_number

    def __repr__(self) -> str:
        return f"<stream {self._lab_number}>" if self._lab_number else "<the default stream>"

    def synchronize(self) -> None:
        """The host waits until all that was queued here is done."""
        self._lab_order.host_waits(self._lab_number)
        self._lab_order.wait_for_stream(HOST, self._lab_number)

    @contextmanager
    def auto_synchronize(self) -> Iterator["Stream"]:
        yield self
        self.synchronize()

    def add_callback(self, callback: Callable[..., Any], arg: object = None) -> None:
        """Work runs as soon as it is queued here, so the callback does, too."""
        callback(self, 0, arg)

    async def async_done(self) -> None:
        """Whoever awaits it has waited for the stream."""
        self.synchronize()


class Event(metaclass=Fixed):
    """A mark in a stream that others can wait for.

    when_too_early: called where the host asks for a time that the device may not have reached.
    """

    def __init__(self, order: Order, when_too_early: Callable[[], None]) -> None:
        self._lab_order = order
        self._lab_when_too_early = when_too_early
        self._lab_number = order.events
        order.events += 1
        self._lab_mark: Known | None = None
        self._lab_stream = DEFAULT  # in which the mark is
        self._lab_recorded: HostPlace | None = None
        self._lab_time = 0.0

    def record(self, stream: Any = 0) -> None:
        self._lab_mark = self._lab_order.snapshot(number_of(stream))
        self._lab_stream = number_of(stream)
        self._lab_recorded = host_place()
        recorded = Step(RECORD, self._lab_recorded, self._lab_stream, events=(self._lab_number,))
        self._lab_order.steps.append(recorded)
        self._lab_time = time.perf_counter()

    def wait(self, stream: Any = 0) -> None:
        """What is queued on the stream from now on comes after the mark."""
        waiting = number_of(stream)
        behind = self._lab_order.issued[waiting]
        wait = EventWait(host_place(), self._lab_recorded, self._lab_stream, behind)
        self._lab_order.event_waits[waiting] = wait
        if self._lab_mark is not None:
            self._lab_order.steps.append(Step(STREAM_WAITS, host_place(), waiting))
            self._lab_order.wait_for(waiting, self._lab_mark)

    def synchronize(self) -> None:
        """The host waits until the mark is reached."""
        if self._lab_mark is not None:
            self._lab_order.host_waits(self._lab_stream)
            self._lab_order.wait_for(HOST, self._lab_mark)

    def query(self) -> bool:
        """Whether the mark is reached: here it is, and from now on the host knows."""
        self.synchronize()
        return True

    def elapsed_time(self, end: "Event") -> float:
        """Milliseconds between two marks: of the simulation, which tells nothing of a GPU."""
        for event in (self, end):
            if event._lab_mark is None:
                raise InputError("an event has no time before event.record(stream)")
            if not self._lab_order.is_done(event._lab_mark):
                self._lab_when_too_early()
        milliseconds = (end._lab_time - self._lab_time) * 1000
        events = self._lab_number, end._lab_number
        self._lab_order.steps.append(Step(TIME, host_place(), value=milliseconds, events=events))
        return milliseconds


def number_of(stream: Any) -> int:
    """The number of a stream; of what numba takes for none, the default stream's."""
    return stream._lab_number if isinstance(stream, Stream) else DEFAULT
