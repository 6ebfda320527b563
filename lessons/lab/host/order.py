"""What is done before what: the work of streams, and the host that goes on meanwhile.

A launch or a copy on a stream is only queued; the host goes on at once. This module knows which
queued work is surely done where: each stream, and the host, keeps how far every stream had come
when it last waited for it, directly or by way of others (a vector clock). Two accesses to the same
memory of which one writes, and of which neither is surely before the other, are a finding.
"""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from .places import HostPlace, host_place
from .steps import HOST_WAITS, Step

HOST = -1
ALL_STREAMS = -1
DEFAULT = 0  # the stream of launches that name none; it waits for all others, and they for it

Actor: TypeAlias = int  # HOST, or the number of a stream
Known: TypeAlias = Counter[int]  # stream -> how many of its operations are done

MAX_OVERLAP_WORK = 1000  # what NumPy may spend on deciding whether two views overlap


class Access(NamedTuple):
    """Memory that queued work reads or writes."""

    memory: np.ndarray
    writes: bool
    stream: int
    number: int  # of the operation, counted along its stream
    what: str  # such as "the kernel `scale`"
    place: HostPlace
    source: np.ndarray | None = None  # what the memory held when a copy from it was queued
    arrives: np.ndarray | None = None  # what a copy brings to the memory when it is waited for

    def overlaps(self, memory: np.ndarray) -> bool:
        if not np.may_share_memory(self.memory, memory):
            return False
        try:
            return np.shares_memory(self.memory, memory, max_work=MAX_OVERLAP_WORK)  # type: ignore[arg-type]
        except np.exceptions.TooHardError:
            return False  # undecided: say nothing that may be wrong


class EventWait(NamedTuple):
    """A stream that was told to wait for an event. recorded: where its mark was made, if it was."""

    place: HostPlace
    recorded: HostPlace | None
    stream: int  # in which the mark is
    behind: int = 0  # how many operations the waiting stream had been given before

    def in_vain(self, waiting: int, access: Access) -> str:
        """Why the stream `waiting` is not behind an access, although it waits; "" if unknown."""
        if self.recorded is None:
            return "which nobody had recorded yet"
        if self.stream == waiting:
            return "which was recorded on this stream itself"
        if self.stream == access.stream:
            return f"which was recorded before that, in line {self.recorded.line}"
        return ""

    def is_exchanged(self, user: int, access: Access) -> bool:
        """Whether the stream of an access waits, behind it, for the stream that should wait."""
        return self.recorded is not None and self.stream == user and self.behind >= access.number


class Order:
    """Which operations of which streams are done, as the host and each stream know it."""

    def __init__(self, when_done: Callable[[Access], None]) -> None:
        self.when_done = when_done  # called with each access that the host has waited for
        self.issued: Known = Counter()
        self.known: dict[Actor, Known] = {HOST: Counter(), DEFAULT: Counter()}
        self.pending: list[Access] = []  # what the host has not waited for
        self.steps: list[Step] = []  # what the host has asked for
        self.event_waits: dict[int, EventWait] = {}  # of each stream the last one
        self.events = 0  # how many there are

    def add_stream(self) -> int:
        """The number of a new stream."""
        number = len(self.known) - 1
        self.known[number] = Counter()
        return number

    def enqueue(self, stream: int) -> int:
        """Queue an operation; returns its number."""
        known = self.known[stream]
        join(known, self.known[HOST])
        if stream == DEFAULT:
            for other in self.known.values():
                join(known, other)
        else:
            join(known, self.known[DEFAULT])
        self.issued[stream] += 1
        known[stream] = self.issued[stream]
        return known[stream]

    def note(self, access: Access) -> None:
        """Remember what an operation of a stream does to memory."""
        # Whoever is not after the former is not after this one either.
        self.pending = [a for a in self.pending if not supersedes(access, a)]
        self.pending.append(access)

    def deliver(self, memory: np.ndarray) -> None:
        """Let arrive what copies bring to this memory: a stream uses it next, or all is told."""
        for position, access in enumerate(self.pending):
            if access.arrives is not None and np.may_share_memory(access.memory, memory):
                np.copyto(access.memory, access.arrives)
                self.pending[position] = access._replace(arrives=None)

    def forget_sources(self, memory: np.ndarray) -> None:
        """The device itself has changed memory that copies were made from."""
        self.pending = [
            a._replace(source=None) if a.source is not None and a.overlaps(memory) else a
            for a in self.pending
        ]

    def conflict(self, actor: Actor, memory: np.ndarray, writes: bool) -> Access | None:
        """Queued work that uses this memory and that nothing puts before `actor`; else None."""
        known = self.known[actor]
        for access in reversed(self.pending):
            if not (writes or access.writes) or access.stream == actor:
                continue
            if known[access.stream] < access.number and access.overlaps(memory):
                return access
        return None

    def user_of(self, memory: np.ndarray) -> Access | None:
        """Queued work that uses this memory, and that the host has not waited for; else None."""
        for access in reversed(self.pending):
            if np.may_share_memory(access.memory, memory):
                return access
        return None

    # ---------------------------------------------------------------- waiting

    def wait_for_stream(self, actor: Actor, stream: int) -> None:
        self.wait_for(actor, self.snapshot(stream))

    def snapshot(self, stream: int) -> Known:
        """How far a stream has come by now, and all that it has waited for: for an event."""
        known = Counter(self.known[stream])
        known[stream] = self.issued[stream]
        if stream == DEFAULT:
            join(known, self.issued)
        return known

    def is_done(self, known: Known) -> bool:
        """Whether the host has waited for all of this."""
        return all(number <= self.known[HOST][stream] for stream, number in known.items())

    def wait_for(self, actor: Actor, known: Known) -> None:
        join(self.known[actor], known)
        if actor == HOST:
            known = self.known[HOST]
            done = [a for a in self.pending if a.number <= known[a.stream]]
            self.pending = [a for a in self.pending if a.number > known[a.stream]]
            for access in done:
                if access.arrives is not None:
                    np.copyto(access.memory, access.arrives)
                self.when_done(access)

    def host_waits(self, stream: int) -> None:
        """Note that the host is about to wait for a stream, -1 for all."""
        self.steps.append(Step(HOST_WAITS, host_place(), stream, waits=True))

    def wait_for_everything(self) -> None:
        self.wait_for(HOST, self.issued)


def supersedes(new: Access, old: Access) -> bool:
    return (
        new.stream == old.stream
        and new.writes >= old.writes
        and old.source is None
        and new.memory.__array_interface__ == old.memory.__array_interface__
    )


def join(known: Known, more: Known) -> None:
    """Whatever `more` knows to be done is known from now on."""
    for stream, number in more.items():
        if number > known[stream]:
            known[stream] = number
