"""What stands for each function of `numba.cuda`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..source import python_function
from .device_array import DeviceArray, garbage, garbage_like, plain
from .devices import Context, Device, Devices, nothing_to_do
from .host_array import plain_array, watched
from .order import ALL_STREAMS, DEFAULT
from .streams import Event, Stream

# ---------------------------------------------------------------- reductions and ufuncs


if TYPE_CHECKING:
    from .session import Session


def reduce_replacement(session: "Session") -> Callable:
    """`cuda.reduce`: makes a reduction of a function of two numbers."""

    def reduce(functor: Callable) -> Callable:
        combine = python_function(functor)

        def reduction(
            arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: Any = 0
        ) -> Any:
            values = np.asarray(plain_array(plain(arr)))
            total = init
            with np.errstate(over="ignore"):
                for value in values[:size]:
                    total = values.dtype.type(combine(total, value))
            if res is None:
                return total
            res[0] = total
            return None

        return reduction

    return reduce


def ufunc_replacement(session: "Session", original: Callable) -> Callable:
    """`numba.vectorize` or `numba.guvectorize`, whose target "cuda" is compiled for the CPU."""

    def vectorize(*arguments: Any, **options: Any) -> Any:
        if options.get("target") != "cuda":
            return original(*arguments, **options)
        decorate = original(*arguments, **{**options, "target": "cpu"})
        if not callable(arguments[0]):
            return lambda function: on_device(session, decorate(function))
        return on_device(session, decorate)

    return vectorize


def on_device(session: "Session", ufunc: Callable) -> Callable:
    """A ufunc that takes arrays of the device, and returns one if it was given any."""

    def call(*arguments: Any, out: Any = None, stream: Any = 0) -> Any:
        outputs = {} if out is None else {"out": plain_array(plain(out))}
        result = ufunc(*(plain_array(plain(argument)) for argument in arguments), **outputs)
        if out is not None:
            return out
        if any(isinstance(argument, DeviceArray) for argument in arguments):
            return DeviceArray(session, np.asarray(result))
        return result

    return call


# ---------------------------------------------------------------- replacements


if TYPE_CHECKING:
    from .session import Session


def host_functions(session: "Session") -> dict[str, Any]:
    """name in `numba.cuda` -> what replaces it."""
    return {
        **array_functions(session),
        **stream_functions(session),
        **device_functions(session),
        "reduce": reduce_replacement(session),
        "Reduce": reduce_replacement(session),
    }


def array_functions(session: "Session") -> dict[str, Callable]:
    def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: Any = None) -> Any:
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
        if isinstance(obj, DeviceArray):
            return obj
        raise InputError(
            f"{type(obj).__name__} holds memory of a GPU, and there is none: give the kernel an "
            "array of cuda.to_device"
        )

    def is_cuda_array(obj: Any) -> bool:
        return hasattr(obj, "__cuda_array_interface__")

    return {
        "to_device": to_device,
        "device_array": device_array,
        "device_array_like": device_array_like,
        "pinned_array": host_array,
        "pinned_array_like": host_array_like,
        "mapped_array": host_array,
        "mapped_array_like": host_array_like,
        "managed_array": host_array,
        "pinned": pinned,
        "mapped": mapped,
        "as_cuda_array": as_cuda_array,
        "is_cuda_array": is_cuda_array,
        "from_cuda_array_interface": refusal("from_cuda_array_interface"),
        "open_ipc_array": refusal("open_ipc_array"),
    }


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
        "stream": stream,
        "external_stream": external_stream,
        "default_stream": default_stream,
        "legacy_default_stream": default_stream,
        "per_thread_default_stream": default_stream,
        "event": event,
        "event_elapsed_time": event_elapsed_time,
        "synchronize": synchronize,
    }


def device_functions(session: "Session") -> dict[str, Any]:
    context = Context(session, Device())
    devices = Devices(context)

    def select_device(device_id: int) -> Context:
        if device_id != 0:
            raise InputError(f"there is no device {device_id}: the lab has one, number 0")
        return context

    def detect() -> bool:
        print("Found 1 device: the lab's simulator, compute capability 8.0")
        return True

    def nothing(*arguments: object, **options: object) -> None:
        return None

    @contextmanager
    def defer_cleanup() -> Iterator[None]:
        """Nothing is freed in this block."""
        session.frees_later += 1
        try:
            yield
        finally:
            session.frees_later -= 1

    return {
        "select_device": select_device,
        "get_current_device": lambda: context.device,
        "current_context": lambda devnum=None: context,
        "list_devices": lambda: devices,
        "gpus": devices,
        "is_available": lambda: True,
        "is_supported_version": lambda: True,
        "is_float16_supported": lambda: True,
        "is_bfloat16_supported": lambda: True,
        "cuda_error": nothing,
        "detect": detect,
        "close": nothing,
        "defer_cleanup": defer_cleanup,
        "profiling": nothing_to_do,
        "profile_start": nothing,
        "profile_stop": nothing,
        "runtime": SimpleNamespace(get_version=lambda: (12, 0), is_supported_version=lambda: True),
    }


def refusal(name: str) -> Callable:
    def refuse(*arguments: object, **options: object) -> None:
        raise InputError(f"cuda.{name} needs a GPU: the lab has none to take memory from")

    return refuse
