"""The one device there is, which is none: what host code may ask about a GPU."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ..dimensions import MAX_BLOCK, MAX_GRID, MAX_THREADS
from .fixed import Fixed
from .order import ALL_STREAMS

if TYPE_CHECKING:
    from .session import Session

GIGABYTE = 1 << 30
MULTIPROCESSORS = 16
ATTRIBUTES = {
    "MAX_THREADS_PER_BLOCK": MAX_THREADS,
    "MAX_BLOCK_DIM_X": MAX_BLOCK[0],
    "MAX_BLOCK_DIM_Y": MAX_BLOCK[1],
    "MAX_BLOCK_DIM_Z": MAX_BLOCK[2],
    "MAX_GRID_DIM_X": MAX_GRID[0],
    "MAX_GRID_DIM_Y": MAX_GRID[1],
    "MAX_GRID_DIM_Z": MAX_GRID[2],
    "MAX_SHARED_MEMORY_PER_BLOCK": 48 * 1024,
    "MAX_THREADS_PER_MULTI_PROCESSOR": 2048,
    "MULTIPROCESSOR_COUNT": MULTIPROCESSORS,
    "WARP_SIZE": 32,
    "CLOCK_RATE": 1_000_000,  # kHz
    "TOTAL_CONSTANT_MEMORY": 64 * 1024,
    "COMPUTE_CAPABILITY_MAJOR": 8,
    "COMPUTE_CAPABILITY_MINOR": 0,
    "CONCURRENT_KERNELS": 1,
    "COOPERATIVE_LAUNCH": 1,
    "UNIFIED_ADDRESSING": 1,
    "MANAGED_MEMORY": 1,
    "ASYNC_ENGINE_COUNT": 2,
    "CAN_MAP_HOST_MEMORY": 1,
    "L2_CACHE_SIZE": 4 << 20,
    "MAX_REGISTERS_PER_BLOCK": 1 << 16,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 96 * 1024,
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": 96 * 1024,
}


class MemoryInfo(NamedTuple):
    free: int
    total: int  # bytes


class Name(str):
    """A device's name: text, and for programs of older versions of Numba something to decode."""

    def decode(self, encoding: str = "utf-8") -> str:
        return str(self)


class Device(metaclass=Fixed):
    """What `cuda.get_current_device()` returns: a made-up GPU of compute capability 8.0."""

    id = 0
    name = Name("the lab's simulator")
    uuid = "GPU-00000000-0000-0000-0000-000000000000"
    compute_capability = (8, 0)
    supports_float16 = True
    supports_bfloat16 = True

    def __getattr__(self, name: str) -> int:
        if name.isupper():
            return ATTRIBUTES.get(name, 0)  # of a GPU's many other attributes it has none
        raise AttributeError(f"the lab's device has no attribute {name}")

    def reset(self) -> None:
        """There is nothing to forget."""


class Context(metaclass=Fixed):
    """What `cuda.current_context()` returns, and each element of `cuda.gpus`."""

    id = 0
    name = Device.name
    compute_capability = Device.compute_capability

    def __init__(self, session: "Session", device: Device) -> None:
        self._lab_session = session
        self.device = device

    def __enter__(self) -> "Context":
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.device, name)

    def synchronize(self) -> None:
        self._lab_session.order.host_waits(ALL_STREAMS)
        self._lab_session.order.wait_for_everything()

    def get_memory_info(self) -> MemoryInfo:
        return MemoryInfo(4 * GIGABYTE, 4 * GIGABYTE)

    def reset(self) -> None:
        """There is nothing to forget."""

    push = pop = reset


class Devices(metaclass=Fixed):
    """What `cuda.gpus` and `cuda.list_devices()` are: a list with one device."""

    def __init__(self, context: Context) -> None:
        self.lst = [context]
        self.current = context

    def __getitem__(self, number: int) -> Context:
        return self.lst[number]

    def __iter__(self) -> Iterator[Context]:
        return iter(self.lst)

    def __len__(self) -> int:
        return 1

    def __str__(self) -> str:
        return "<the lab's simulator>"


@contextmanager
def nothing_to_do(*arguments: object, **options: object) -> Iterator[None]:
    """A `with` block that changes nothing here, such as `cuda.profiling()`."""
    yield
