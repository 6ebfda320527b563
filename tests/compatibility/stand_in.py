"""Stand in for the CUDA driver, so that numba-cuda's own tests run on a machine without a GPU.

`install(launch)` replaces what needs a driver: the device, its context, streams, events and device
arrays (which become NumPy arrays, those of numba-cuda's simulator). Everything else stays as it is:
numba-cuda types and compiles each kernel for compute capability 9.0, raises its own errors, and
converts arguments; only where it would hand machine code to the driver, `launch` gets the kernel.
"""

import atexit
import builtins
import contextlib
import importlib
import itertools
import linecache
import sys
import types as python_types
from collections.abc import Callable
from typing import Any

import numpy as np

COMPUTE_CAPABILITY = (9, 0)
EXEC = builtins.exec
NUMBERS = itertools.count()


def install(launch: Callable[..., None]) -> None:
    """Put the stand-in in place, before a test of numba-cuda is imported.

    launch(kernel, arguments, grid, block, shared_bytes) runs a compiled kernel of numba-cuda.
    """
    without_filecheck()
    from numba import cuda
    from numba.cuda import api, dispatcher
    from numba.cuda.cudadrv import devices, driver

    context = Context()
    runtime = type(devices._runtime)
    runtime.get_or_create_context = lambda self, number=None: context
    runtime.ensure_context = lambda self: contextlib.nullcontext()
    runtime.reset = lambda self: None
    type(devices.gpus).lst = [context]
    type(devices.gpus).current = context
    driver._to_core_stream = lambda stream: stream or Stream()
    dispatcher.get_current_device = lambda: context.device
    dispatcher._Kernel.bind = lambda self: None
    dispatcher._Kernel.max_cooperative_grid_blocks = lambda self, block, shared=0: 132
    dispatcher._Kernel.launch = launch_kernel(launch)
    keep_function(dispatcher.CUDADispatcher)
    dispatcher.ForAll._compute_thread_per_block = lambda self, kernel: self.thread_per_block or 256
    compiler = importlib.import_module("numba.cuda.compiler")
    compiler.get_current_device = lambda: context.device
    for name, value in host_names(context).items():
        for module in (cuda, api):
            setattr(module, name, value)
    replace_arrays()
    show_foreign_arrays()
    builtins.exec = exec_and_keep_text


def install_lab(launch: Callable[..., None]) -> None:
    """The lab's own stand-in, for a front end that compiles nothing without a GPU."""
    from lessons.lab.host.instead_of_gpu import replaced
    from lessons.lab.host.session import Session, SessionOptions

    class Behind(Session):
        def run(self, kernel: Any, chosen: Any, prepared: Any) -> str:
            launch(kernel, list(prepared.values), chosen.grid, chosen.block, chosen.shared_bytes)
            prepared.assume_written()
            return str(prepared.name)

    importlib.import_module("numba_cuda_mlir.cuda")
    without_filecheck()
    stack = contextlib.ExitStack()
    stack.enter_context(replaced(Behind(SessionOptions())))
    atexit.register(stack.close)
    builtins.exec = exec_and_keep_text


def without_filecheck() -> None:
    """numba-cuda's tests import a tool that compares compiler output; no kernel needs it."""
    for name in ("matcher", "options", "parser", "finput"):
        module = python_types.ModuleType(f"filecheck.{name}")
        module.__getattr__ = lambda attribute: object  # type: ignore[method-assign]
        sys.modules[module.__name__] = module
    sys.modules["filecheck"] = python_types.ModuleType("filecheck")


def keep_function(dispatcher: Any) -> None:
    """A kernel that numba-cuda loads from its cache on disk has lost its Python function."""
    compile_kernel = dispatcher.compile

    def compile_and_keep(self: Any, signature: object) -> Any:
        kernel = compile_kernel(self, signature)
        kernel.py_func = self.py_func
        return kernel

    dispatcher.compile = compile_and_keep


def exec_and_keep_text(
    source: Any, globals: Any = None, locals: Any = None, /, **rest: Any
) -> None:
    """`exec`, but the text of what it defines can be read afterwards, as if it were a file's."""
    caller = sys._getframe(1)
    if globals is None:
        globals = caller.f_globals
        locals = caller.f_locals if locals is None else locals
    if isinstance(source, str):
        name = f"<text {next(NUMBERS)}>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        source = compile(source, name, "exec")
    EXEC(source, globals, locals, **rest)


class Device:
    """An H200 as far as the tests ask."""

    id = 0
    name = b"stand-in"
    uuid = "GPU-00000000-0000-0000-0000-000000000000"
    compute_capability = COMPUTE_CAPABILITY
    supports_float16 = supports_bfloat16 = supports_fp8 = True
    MULTIPROCESSOR_COUNT = 132
    WARP_SIZE = 32
    MAX_THREADS_PER_BLOCK = 1024
    MAX_SHARED_MEMORY_PER_BLOCK = 48 * 1024


class Context:
    """Of that device."""

    id = 0
    device = Device()
    compute_capability = COMPUTE_CAPABILITY
    handle = 0

    def __enter__(self) -> "Context":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(Device, name)

    def synchronize(self) -> None:
        pass

    reset = push = pop = synchronize

    def create_stream(self) -> "Stream":
        return Stream()

    get_default_stream = create_stream

    def get_memory_info(self) -> tuple[int, int]:
        return 2**37, 2**37

    def get_active_blocks_per_multiprocessor(self, *arguments: object) -> int:
        return 1


class Stream:
    """All that is launched has finished when the launch returns."""

    handle = 0

    def synchronize(self) -> None:
        pass

    @contextlib.contextmanager
    def auto_synchronize(self):
        yield self

    def __int__(self) -> int:
        return 0


class Event:
    """A moment that has passed."""

    def record(self, stream: object = 0) -> None:
        pass

    wait = record

    def synchronize(self) -> None:
        pass

    def query(self) -> bool:
        return True

    def elapsed_time(self, other: "Event") -> float:
        return 0.0


def host_names(context: Context) -> dict[str, object]:
    """What host code calls as `cuda.NAME`."""
    return {
        "is_available": lambda: True,
        "current_context": lambda number=None: context,
        "get_current_device": lambda: context.device,
        "select_device": lambda number: context,
        "synchronize": lambda: None,
        "close": lambda: None,
        "stream": Stream,
        "default_stream": Stream,
        "legacy_default_stream": Stream,
        "per_thread_default_stream": Stream,
        "external_stream": lambda pointer: Stream(),
        "event": lambda timing=True: Event(),
        "defer_cleanup": contextlib.nullcontext,
        "pinned": lambda *arrays: contextlib.nullcontext(),
        "mapped": mapped,
        "as_cuda_array": as_cuda_array,
        "from_cuda_array_interface": lambda description, owner=None, sync=True: as_cuda_array(
            python_types.SimpleNamespace(__cuda_array_interface__=description)
        ),
    }


# ---------------------------------------------------------------- device arrays


def replace_arrays() -> None:
    """Device arrays are those of numba-cuda's simulator, with an interface for other libraries."""
    from numba import cuda
    from numba.cuda import api
    from numba.cuda.cudadrv import devicearray
    from numba.cuda.simulator.cudadrv import devicearray as simulated

    class DeviceArray(simulated.FakeCUDAArray):
        @property
        def __cuda_array_interface__(self) -> dict[str, object]:
            interface = dict(self._ary.__array_interface__)
            return {**interface, "version": 3, "stream": None}

        @property
        def _numba_type_(self) -> object:
            from numba.cuda.np import numpy_support

            if isinstance(self._ary, np.void) or (self._ary.ndim == 0 and self._ary.dtype.fields):
                return numpy_support.from_dtype(self._ary.dtype)
            return super()._numba_type_

    simulated.FakeCUDAArray = DeviceArray
    makers = (
        "device_array device_array_like pinned_array pinned_array_like managed_array mapped_array"
    )
    for name in ("to_device", *makers.split()):
        for module in (cuda, api):
            setattr(module, name, getattr(simulated, name))
    cuda.mapped_array_like = api.mapped_array_like = mapped_array_like
    cuda._auto_device = api._auto_device = devicearray.auto_device = simulated.auto_device
    devicearray.DeviceNDArray = devicearray.DeviceNDArrayBase = DeviceArray
    devicearray.is_cuda_ndarray = simulated.is_cuda_ndarray
    devicearray.to_device = simulated.to_device


def show_foreign_arrays() -> None:
    """Arrays of other libraries are in the host's memory here, and say so."""
    from numba.cuda import testing

    def interface(array: Any) -> dict[str, object]:
        return array._arr._ary.__array_interface__

    testing.ForeignArray.__array_interface__ = property(interface)


def mapped_array_like(array: np.ndarray, **options: object) -> object:
    from numba import cuda

    return cuda.device_array_like(array)


@contextlib.contextmanager
def mapped(*arrays: np.ndarray, **options: object):
    from numba.cuda.simulator.cudadrv import devicearray

    found = [devicearray.FakeCUDAArray(array) for array in arrays]
    yield found[0] if len(found) == 1 else found


def as_cuda_array(value: object, sync: bool = True) -> object:
    from numba.cuda.simulator.cudadrv import devicearray

    if isinstance(value, devicearray.FakeCUDAArray):
        return value
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is None:
        raise TypeError("*obj* doesn't implement the cuda array interface.")
    if interface.get("mask") is not None:
        raise NotImplementedError("Masked arrays are not supported")
    return devicearray.FakeCUDAArray(as_numpy(value))


def as_numpy(value: Any) -> np.ndarray:
    """The memory behind an array of the host, of the device, or of another library."""
    if isinstance(value, (np.ndarray, np.void)):
        return value
    if hasattr(value, "_ary"):
        return value._ary
    interface = dict(value.__cuda_array_interface__)
    holder = python_types.SimpleNamespace(__array_interface__={**interface, "version": 3})
    return np.asarray(holder)


# ---------------------------------------------------------------- launches


def launch_kernel(launch: Callable[..., None]) -> Callable[..., None]:
    def run(kernel: Any, args: tuple, griddim, blockdim, stream=0, sharedmem=0) -> None:
        retrieved: list[Callable[[], object]] = []
        values = []
        for kind, value in zip(kernel.argument_types, args, strict=True):
            for extension in reversed(kernel.extensions):
                kind, value = extension.prepare_args(kind, value, stream=stream, retr=retrieved)
            values.append(argument(kind, value))
        launch(kernel, values, griddim, blockdim, sharedmem)
        for retrieve in retrieved:
            retrieve()

    return run


def argument(kind: Any, value: Any) -> object:
    """A kernel's argument, converted to the type that the kernel was compiled for."""
    from numba.cuda import types
    from numba.cuda.args import ArgHint, In
    from numba.cuda.np import numpy_support

    if isinstance(value, ArgHint):
        inner = as_numpy(value.value)
        return inner.copy() if isinstance(value, In) else inner
    if isinstance(kind, (types.Array, types.Record)):
        return as_numpy(value)
    if isinstance(kind, types.BaseTuple):
        items = [argument(k, v) for k, v in zip(kind, value, strict=True)]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(kind, (types.Number, types.Boolean)) and not isinstance(kind, types.EnumMember):
        dtype = numpy_support.as_dtype(kind)
        if isinstance(value, (int, np.integer)) and dtype.kind in "iu":
            return np.array(int(value) & (1 << 8 * dtype.itemsize) - 1, np.uint64).astype(dtype)[()]
        return dtype.type(value)
    return value
