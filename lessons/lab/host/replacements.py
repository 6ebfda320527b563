"""What stands for each function of `numba.cuda`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numba.cuda
import numpy as np

from ..errors import InputError
from ..numba_compiler import any_device
from ..source import python_function
from .device_array import DeviceArray, garbage, garbage_like
from .devices import Context, Devices, nothing_to_do
from .host_array import plain_array, watched
from .order import ALL_STREAMS, DEFAULT
from .streams import Event, Stream

if TYPE_CHECKING:
    from .session import Session


RUNTIME_VERSION = 13, 0


def reduce_replacement(session: "Session") -> Callable:
    """`cuda.reduce`: makes a reduction of a function of two numbers."""

    def reduce(functor: Callable) -> Callable:
        combine = python_function(functor)

        def reduction(
            arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: Any = 0
        ) -> Any:
            if arr.ndim != 1:  # as Numba says it
                raise TypeError("only support 1D array")
            given = session.adopted(arr)[:size]
            if isinstance(given, DeviceArray):  # a copy tells if nobody wrote its elements
                given = given.copy_to_host().copy()
            values = np.asarray(plain_array(given))
            total = values.dtype.type(init)
            with np.errstate(over="ignore"):
                for value in values:
                    total = values.dtype.type(combine(total, value))
            if res is None:
                return total
            res[0] = total
            return None

        return reduction

    return reduce


def host_functions(session: "Session") -> dict[str, Any]:
    """name in `numba.cuda` -> what replaces it."""
    streams = stream_functions(session)
    return {
        **array_functions(session),
        **streams,
        **device_functions(session, streams),
        "reduce": reduce_replacement(session),
        "Reduce": reduce_replacement(session),
    }


def array_functions(session: "Session") -> dict[str, Callable]:
    def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: Any = None) -> Any:
        obj = session.adopted(obj)
        if isinstance(obj, DeviceArray):
            return obj
        source = np.asarray(plain_array(obj)) if not isinstance(obj, np.void) else np.asarray(obj)
        if to is None:
            to = DeviceArray(session, np.empty_like(source), stream)
            if not copy:
                to._lab_data = garbage_like(source)
        if copy:
            to.copy_to_device(obj if isinstance(obj, np.ndarray) else source, stream)
        return to

    def device_array(
        shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0
    ) -> DeviceArray:
        return unwritten(garbage(shape, dtype, strides, order), stream)

    def device_array_like(ary: Any, stream: Any = 0) -> DeviceArray:
        return unwritten(garbage_like(ary), stream)

    def unwritten(data: np.ndarray, stream: Any) -> DeviceArray:
        # Of records, whose fields are written one by one, it is not known.
        known = data.dtype.kind in "biufc"
        return DeviceArray(session, data, stream, np.zeros(data.shape, bool) if known else None)

    def host_array(
        shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", **options: Any
    ) -> np.ndarray:
        return watched(session, garbage(shape, dtype, strides, order))

    def host_array_like(ary: Any, **options: Any) -> np.ndarray:
        return watched(session, garbage_like(plain_array(ary)))

    @contextmanager
    def pinned(*arrays: np.ndarray) -> Iterator[None]:
        """Ordinary arrays that may be copied from and to while the host goes on."""
        session.pinned += [plain_array(array) for array in arrays]
        try:
            yield
        finally:
            del session.pinned[-len(arrays) :]

    @contextmanager
    def mapped(*arrays: np.ndarray, **options: Any) -> Iterator[Any]:
        views = [DeviceArray(session, plain_array(array)) for array in arrays]
        yield views[0] if len(views) == 1 else views

    def as_cuda_array(obj: Any, sync: bool = True) -> Any:
        found = session.adopted(obj)
        if isinstance(found, DeviceArray):
            return found
        raise TypeError("*obj* doesn't implement the cuda array interface.")

    def from_cuda_array_interface(desc: Any, owner: Any = None, sync: bool = True) -> Any:
        return session.adopted(SimpleNamespace(__cuda_array_interface__=desc, owner=owner))

    def is_cuda_array(obj: Any) -> bool:
        return hasattr(obj, "__cuda_array_interface__")

    def open_ipc_array(*arguments: object, **options: object) -> None:
        raise InputError("cuda.open_ipc_array needs a GPU: the lab has none to take memory from")

    return {
        **named(to_device, device_array, device_array_like, pinned, mapped),
        **named(as_cuda_array, is_cuda_array, from_cuda_array_interface, open_ipc_array),
        **dict.fromkeys(("pinned_array", "mapped_array", "managed_array"), host_array),
        **dict.fromkeys(("pinned_array_like", "mapped_array_like"), host_array_like),
    }


def named(*functions: Callable) -> dict[str, Callable]:
    return {function.__name__: function for function in functions}


def stream_functions(session: "Session") -> dict[str, Callable]:
    default = Stream(session.order, DEFAULT)

    def stream() -> Stream:
        return Stream(session.order, session.order.add_stream())

    def external_stream(ptr: int) -> Stream:
        return stream()

    def default_stream() -> Stream:
        return default

    def event(timing: bool = True) -> Event:
        return Event(session.order, session.find_early_time)

    def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
        return evtstart.elapsed_time(evtend)

    def synchronize() -> None:
        session.order.host_waits(ALL_STREAMS)
        session.order.wait_for_everything()

    return {
        **named(stream, external_stream, default_stream, event, event_elapsed_time, synchronize),
        "legacy_default_stream": default_stream,
        "per_thread_default_stream": default_stream,
    }


def device_functions(session: "Session", functions: dict[str, Callable]) -> dict[str, Any]:
    devices = Devices(session, functions)

    def select_device(device_id: int) -> Context:
        if not 0 <= device_id < len(devices):
            raise InputError(devices._lab_missing(device_id))
        session.current.stack[:] = [device_id]
        return devices.current

    def current_context(devnum: int | None = None) -> Context:
        return devices.current if devnum is None else devices[devnum]

    def detect() -> bool:
        print(f"Found {len(devices)} device(s): the lab's simulator, compute capability 8.0")
        return True

    def for_current_device(name: str) -> Callable:
        compile_it = getattr(numba.cuda, name, None)

        def compiled(*arguments: Any, **options: Any) -> Any:
            if compile_it is None:
                raise InputError("numba-cuda is not installed, whose compiler makes PTX")
            with any_device():
                return compile_it(*arguments, cc=devices.current.compute_capability, **options)

        return compiled

    def nothing(*arguments: object, **options: object) -> None:
        return None

    supported = "is_supported_version", "is_float16_supported", "is_bfloat16_supported"
    return {
        **named(select_device, current_context, detect),
        **dict.fromkeys(("is_available", *supported), lambda: True),
        **dict.fromkeys(("cuda_error", "close", "profile_start", "profile_stop"), nothing),
        "get_current_device": lambda: devices.current.device,
        "list_devices": lambda: devices,
        "gpus": devices,
        "compile_ptx_for_current_device": for_current_device("compile_ptx"),
        "compile_for_current_device": for_current_device("compile"),
        "defer_cleanup": lambda: devices.current.defer_cleanup(),
        "profiling": nothing_to_do,
        "runtime": SimpleNamespace(
            get_version=lambda: RUNTIME_VERSION, is_supported_version=lambda: True
        ),
    }


def driver_functions(session: "Session") -> dict[str, Any]:
    """name in `numba.cuda.cudadrv.driver` -> what replaces it."""

    def device_to_host(dst: Any, src: Any, size: int, stream: Any = 0) -> None:
        session.copy_to_host(src._lab_data, dst, stream)

    def host_to_device(dst: Any, src: Any, size: int, stream: Any = 0) -> None:
        dst.copy_to_device(src, stream)

    def device_memset(dst: Any, val: int, size: int, stream: Any = 0) -> None:
        bytes_of(dst)[:size] = val
        dst._lab_assume_written()

    def device_pointer(obj: Any) -> int:
        return int(obj.__cuda_array_interface__["data"][0])

    def bytes_of(array: DeviceArray) -> np.ndarray:
        return array._lab_data.reshape(-1).view(np.uint8)

    return {
        **named(device_to_host, host_to_device, device_memset, device_pointer),
        "device_to_device": host_to_device,
        "get_version": lambda: RUNTIME_VERSION,
    }
