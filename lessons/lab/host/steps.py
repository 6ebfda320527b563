"""What the host has asked for, in its order: copies, launches, events, and where it waits."""

from typing import NamedTuple

from .places import HostPlace

TO_DEVICE, TO_HOST, LAUNCH = "to device", "to host", "launch"
RECORD, STREAM_WAITS, HOST_WAITS, TIME = "record", "stream waits", "host waits", "time"
FREE = "freed in use"  # an array on the device, while queued work still uses it


class Step(NamedTuple):
    """do: one of the words above. stream: its number, 0 for the default stream; of "host waits" the
    one that is waited for, -1 for all; of FREE one that uses the array. place: of FREE the line
    that has made the array. waits: whether the host goes on only when it is done. name: of the
    kernel. size: bytes of a copy or an array, threads of a launch. value: milliseconds of "time".
    types: of what a launch is given, one after the other, in words; see `arguments.types_of`.
    arrays: of the same, where each begins in memory; 0 for what is no array. events: of "record"
    and "time" the numbers of the events, the first and the last of a time.
    """

    do: str
    place: HostPlace
    stream: int = 0
    waits: bool = False
    name: str = ""
    size: int = 0
    value: float = 0.0
    types: str = ""
    arrays: tuple[int, ...] = ()
    events: tuple[int, ...] = ()
