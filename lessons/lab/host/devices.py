"""The devices there are, which are none: what host code may ask about a GPU."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ..dimensions import MAX_BLOCK, MAX_GRID, MAX_THREADS, as_dim3, volume
from .fixed import Fixed
from .order import ALL_STREAMS

if TYPE_CHECKING:
    from .session import Session

GIGABYTE = 1 << 30
MULTIPROCESSORS = 16
ATTRIBUTES = {
    "MAX_THREADS_PER_BLOCK": MAX_THREADS,
    **{f"MAX_BLOCK_DIM_{axis}": size for axis, size in zip("XYZ", MAX_BLOCK, strict=True)},
    **{f"MAX_GRID_DIM_{axis}": size for axis, size in zip("XYZ", MAX_GRID, strict=True)},
    "MAX_SHARED_MEMORY_PER_BLOCK": 48 * 1024,
    "MAX_THREADS_PER_MULTI_PROCESSOR": 2048,
    "MAX_BLOCKS_PER_MULTIPROCESSOR": 32,
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
    "MEMORY_CLOCK_RATE": 1_000_000,  # kHz
    "GLOBAL_MEMORY_BUS_WIDTH": 256,  # bits
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


def blocks_at_once(block: Any) -> int:
    """How many blocks of a kernel one multiprocessor holds, as far as threads decide it."""
    threads = volume(as_dim3(block, "block"))
    most = ATTRIBUTES["MAX_THREADS_PER_MULTI_PROCESSOR"] // threads
    return max(1, min(ATTRIBUTES["MAX_BLOCKS_PER_MULTIPROCESSOR"], most))


class Device(metaclass=Fixed):
    """What `cuda.get_current_device()` returns: a made-up GPU of compute capability 8.0."""

    name = Name("the lab's simulator")
    compute_capability = (8, 0)
    supports_float16 = True
    supports_bfloat16 = True

    def __init__(self, number: int) -> None:
        self.id = number
        self.uuid = f"GPU-00000000-0000-0000-0000-{number:012}"
        self._lab_context: Context | None = None

    def __getattr__(self, name: str) -> int:
        if name.isupper():
            return ATTRIBUTES.get(name, 0)  # of a GPU's many other attributes it has none
        raise AttributeError(f"the lab's device has no attribute {name}")

    def __str__(self) -> str:
        return f"<device {self.id} of the lab>"

    __repr__ = __str__

    def get_primary_context(self) -> "Context | None":
        return self._lab_context

    def reset(self) -> None:
        """There is nothing to forget."""


class Deallocations(metaclass=Fixed):
    """`context.deallocations`: what waits to be freed. Here everything is freed at once."""

    is_disabled = False

    def __init__(self, disable: Callable[[], AbstractContextManager]) -> None:
        self.disable = disable

    def clear(self) -> None:
        """Nothing waits."""

    def __len__(self) -> int:
        return 0


class Context(metaclass=Fixed):
    """What `cuda.current_context()` returns, and each element of `cuda.gpus`."""

    def __init__(
        self, session: "Session", device: Device, functions: Mapping[str, Callable]
    ) -> None:
        self._lab_session = session
        self._lab_functions = functions
        self.device = device
        self.deallocations = Deallocations(self.defer_cleanup)
        device._lab_context = self

    def __enter__(self) -> "Context":
        self.push()
        return self

    def __exit__(self, *error: object) -> None:
        self.pop()

    def __getattr__(self, name: str) -> Any:
        made = self._lab_functions.get(re.sub("^(create|get)_", "", name))  # create_stream, ...
        return made or getattr(self.device, name)

    def __str__(self) -> str:
        return f"<context of device {self.device.id} of the lab>"

    __repr__ = __str__

    def push(self) -> None:
        self._lab_session.current.stack.append(self.device.id)

    def pop(self) -> None:
        stack = self._lab_session.current.stack
        if len(stack) > 1:
            stack.pop()

    def synchronize(self) -> None:
        self._lab_session.order.host_waits(ALL_STREAMS)
        self._lab_session.order.wait_for_everything()

    def get_memory_info(self) -> MemoryInfo:
        used = self._lab_session.bytes_on(self.device.id)
        return MemoryInfo(max(0, 4 * GIGABYTE - used), 4 * GIGABYTE)

    def reset(self) -> None:
        """There is nothing to forget."""

    def get_active_blocks_per_multiprocessor(
        self, func: Any, blocksize: Any, memsize: int = 0, flags: Any = None
    ) -> int:
        return blocks_at_once(blocksize)

    def get_max_potential_block_size(
        self, func: Any, b2d_func: Any, memsize: int, blocksizelimit: int, flags: Any = None
    ) -> tuple[int, int]:
        block = min(blocksizelimit or MAX_THREADS, MAX_THREADS)
        return MULTIPROCESSORS * blocks_at_once(block), block

    def can_access_peer(self, peer_device: Any) -> bool:
        return False

    @contextmanager
    def defer_cleanup(self) -> Iterator[None]:
        """Nothing is freed in this block."""
        self._lab_session.frees_later += 1
        try:
            yield
        finally:
            self._lab_session.frees_later -= 1


class Devices(metaclass=Fixed):
    """What `cuda.gpus` and `cuda.list_devices()` are: a list of devices."""

    def __init__(self, session: "Session", functions: Mapping[str, Callable]) -> None:
        self._lab_session = session
        count = session.options.devices
        self.lst = [Context(session, Device(number), functions) for number in range(count)]

    @property
    def current(self) -> Context:
        return self.lst[self._lab_session.current.stack[-1]]

    def __getitem__(self, number: int) -> Context:
        try:
            return self.lst[number]
        except IndexError:
            raise IndexError(self._lab_missing(number)) from None

    def _lab_missing(self, number: int) -> str:
        there = "one, number 0" if len(self) == 1 else f"{len(self)}, from number 0"
        return (
            f"there is no device {number}: the lab has {there}; for more, "
            f"--devices {number + 1} or instead_of_gpu(devices={number + 1})"
        )

    def __iter__(self) -> Iterator[Context]:
        return iter(self.lst)

    def __len__(self) -> int:
        return len(self.lst)

    def __str__(self) -> str:
        return ", ".join(str(context.device) for context in self.lst)


@contextmanager
def nothing_to_do(*arguments: object, **options: object) -> Iterator[None]:
    """A `with` block that changes nothing here, such as `cuda.profiling()`."""
    yield
