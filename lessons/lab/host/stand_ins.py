"""Stand-ins for those parts of CuPy and PyTorch that host code around kernels uses.

They are found only where the real package is missing, while the lab is in the place of
`numba.cuda`. What is computed with their arrays NumPy computes, at once, and nothing checks it.
A PyTorch that is there, but finds no GPU, goes on itself, with all tensors in the host's memory.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from time import perf_counter
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from numba import cuda

from .. import AfterImport
from .device_array import DeviceArray, plain

METHODS = (
    "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift radd rsub rmul rtruediv "
    "rpow rmatmul lt le gt ge eq ne neg pos abs invert float int bool index len iter contains repr "
    "iadd isub imul itruediv ifloordiv ipow iand ior ixor"
).split()


class Array:
    """An array of CuPy on the device, or a tensor of PyTorch on the device or the host."""

    __array_priority__ = 2000
    __hash__ = object.__hash__

    def __init__(self, array: Any) -> None:
        self._lab_array = array  # a `DeviceArray` or a NumPy array

    is_cuda = property(lambda self: isinstance(self._lab_array, DeviceArray))
    device = property(lambda self: Place("cuda:0" if self.is_cuda else "cpu"))

    # A tensor on the host has none: this raises `AttributeError`.
    __cuda_array_interface__ = property(lambda self: self._lab_array.__cuda_array_interface__)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        if self.is_cuda:
            raise TypeError("this array is on the device: call .get() or .cpu() first")
        return np.asarray(self._lab_array, dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(plain(self._lab_array), name)
        return by_numpy(value, self) if callable(value) else self._lab_near(value)

    def __getitem__(self, item: Any) -> Any:
        return self._lab_near(plain(self._lab_array)[unwrapped(item)])

    def __setitem__(self, item: Any, value: Any) -> None:
        plain(self._lab_array)[unwrapped(item)] = unwrapped(value)
        if self.is_cuda:
            self._lab_array._lab_assume_written()

    def _lab_near(self, value: Any) -> Any:
        """What NumPy has computed of this array, where this array is."""
        if not isinstance(value, np.ndarray) and not isinstance(value, np.generic):
            return value
        value = np.asarray(value)
        if not self.is_cuda:
            return Array(value)
        if np.may_share_memory(value, self._lab_array._lab_data):
            return Array(self._lab_array._lab_part(value))
        return Array(cuda.to_device(value))

    def get(self, stream: Any = None) -> Any:
        return self._lab_array.copy_to_host()

    def cpu(self) -> "Array":
        return Array(self.get()) if self.is_cuda else self

    def cuda(self, *where: Any, **ignored: Any) -> "Array":
        return self if self.is_cuda else Array(cuda.to_device(self._lab_array))

    def numpy(self) -> np.ndarray:
        return self.__array__()

    def to(
        self, what: Any = None, dtype: Any = None, device: Any = None, **ignored: Any
    ) -> "Array":
        place = str(device or what)
        moved = self.cuda() if place.startswith("cuda") else self.cpu() if place == "cpu" else self
        kind = dtype or (what if moved is self and device is None and place != "cpu" else None)
        return moved if kind is None or isinstance(kind, str) else moved.astype(kind)

    detach = contiguous = lambda self: self
    clone = lambda self: self.copy()  # noqa: E731

    def size(self, axis: int | None = None) -> Any:
        return self.shape if axis is None else self.shape[axis]

    def numel(self) -> int:
        return int(np.prod(self.shape))


def operator(name: str) -> Callable:
    def method(self: Array, *others: Any) -> Any:
        value = getattr(plain(self._lab_array), name)(*map(unwrapped, others))
        return self if value is plain(self._lab_array) else self._lab_near(value)

    return method


for word in METHODS:
    setattr(Array, f"__{word}__", operator(f"__{word}__"))


class Place(str):
    """A device as PyTorch prints it."""

    type = property(lambda self: self.partition(":")[0])


def unwrapped(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(map(unwrapped, value))
    return plain(value._lab_array) if isinstance(value, Array) else plain(value)


def by_numpy(function: Callable, near: Array | None = None, dtype: Any = None) -> Callable:
    """A function of NumPy's on such arrays. near: where its result is, if no argument tells."""

    def call(*arguments: Any, device: Any = None, **options: Any) -> Any:
        there = next((each for each in arguments if isinstance(each, Array)), near)
        options = {name: unwrapped(value) for name, value in options.items()}
        value = function(*map(unwrapped, arguments), **options)
        if dtype is not None and value.dtype == np.float64 and "dtype" not in options:
            value = value.astype(dtype)
        result = (Array(np.zeros(0)) if there is None else there)._lab_near(value)
        return result.to(device) if device is not None else result

    return call


def module_of(name: str, near: Array, ours: dict[str, Any]) -> ModuleType:
    """A module with functions of its own, and NumPy's for what it has not."""
    module = ModuleType(name)
    module.__dict__.update(ours, cuda=CUDA)

    def from_numpy(wanted: str) -> Any:
        value = getattr(np, wanted, None)
        if value is None or wanted.startswith("__"):
            raise AttributeError(no_such_part(f"{name}.{wanted}"))
        return by_numpy(value, near) if callable(value) and not isinstance(value, type) else value

    module.__getattr__ = from_numpy  # type: ignore[method-assign]
    return module


class Stream(contextlib.nullcontext):
    """A queue, whose work is done at once."""

    ptr = cuda_stream = 0

    def __enter__(self) -> "Stream":
        return self

    def synchronize(self) -> None:
        """Nothing is under way."""


class Event(Stream):
    """A point in time of the host's."""

    def __init__(self, *ignored: Any, **options: Any) -> None:
        super().__init__()
        self.time = perf_counter()

    def record(self, stream: Any = None) -> None:
        self.time = perf_counter()

    def elapsed_time(self, later: "Event") -> float:
        return (later.time - self.time) * 1000


CUDA = SimpleNamespace(
    Stream=Stream, Event=Event, Device=contextlib.nullcontext, is_available=lambda: True,
    current_device=lambda: 0, synchronize=lambda *ignored: cuda.synchronize(),
    runtime=SimpleNamespace(deviceSynchronize=lambda: cuda.synchronize()),
)  # fmt: skip


def cupy() -> ModuleType:
    def asarray(value: Any, dtype: Any = None, **ignored: Any) -> Array:
        if isinstance(value, Array) and dtype in (None, value.dtype):
            return value
        if isinstance(value, DeviceArray):
            return Array(value)
        return Array(cuda.to_device(np.array(unwrapped(value), dtype)))

    def empty(shape: Any, dtype: Any = float, **ignored: Any) -> Array:
        return Array(cuda.device_array(shape, dtype))

    ours = {"ndarray": Array, "asarray": asarray, "array": asarray, "empty": empty}
    ours |= {
        "asnumpy": lambda array: array.get() if isinstance(array, Array) else np.asarray(array)
    }
    ours |= {"empty_like": lambda array, dtype=None: empty(array.shape, dtype or array.dtype)}
    return module_of("cupy", empty(1), ours)


def torch() -> ModuleType:
    host = Array(np.zeros(0))

    def sized(function: Callable) -> Callable:
        def make(*size: Any, **options: Any) -> np.ndarray:
            array: np.ndarray = function(size if isinstance(size[0], int) else size[0], **options)
            return array

        return by_numpy(make, host, np.float32)

    random = np.random.default_rng(0)
    ours: dict[str, Any] = {name: sized(getattr(np, name)) for name in ("zeros", "ones", "empty")}
    ours |= {"rand": sized(random.random), "randn": sized(random.standard_normal)}
    ours |= {name: by_numpy(getattr(np, name), host, np.float32) for name in ("arange", "full")}
    ours |= {name: by_numpy(np.array, host, np.float32) for name in ("tensor", "as_tensor")}
    ours |= {"Tensor": Array, "from_numpy": Array, "device": Place, "float": np.float32}
    ours |= {"int": np.int32, "long": np.int64, "double": np.float64, "bool": np.bool_}
    ours |= {"no_grad": contextlib.nullcontext, "manual_seed": lambda seed: None}
    return module_of("torch", host, ours)


def part_of_cuda() -> ModuleType:
    module = ModuleType("cuda")
    module.__dict__.update(vars(CUDA))
    return module


MAKES: dict[str, Callable[[], ModuleType]] = {
    "cupy": cupy, "torch": torch, "cupy.cuda": part_of_cuda, "torch.cuda": part_of_cuda,
}  # fmt: skip


def no_such_part(name: str) -> str:
    remedy = "install CuPy" if name.startswith("cupy") else "install PyTorch; one for CPUs will do"
    return f"what the lab has in the place of {name.partition('.')[0]} has no {name}: {remedy}"


class StandIns(MetaPathFinder, Loader):
    """The last that is asked for a module."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> Any:
        whole = sys.modules.get(name.partition(".")[0])
        if name in MAKES:
            return ModuleSpec(name, self, is_package="." not in name)
        if getattr(getattr(whole, "__spec__", None), "loader", None) is self:
            raise ModuleNotFoundError(no_such_part(name), name=name)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        if "." not in spec.name:
            print(f"{spec.name} is not installed: the lab stands in for it", file=sys.stderr)
        return MAKES[spec.name]()

    def exec_module(self, module: ModuleType) -> None:
        """It is whole already."""


@contextlib.contextmanager
def stand_ins() -> Iterator[None]:
    """While this block runs, `import cupy` and `import torch` find something."""
    finder = StandIns()
    with contextlib.ExitStack() as stack:
        later = AfterImport("torch", lambda module: without_gpu(module, stack))
        sys.meta_path.append(finder)
        if "torch" in sys.modules:
            without_gpu(sys.modules["torch"], stack)
        else:
            sys.meta_path.insert(0, later)
        try:
            yield
        finally:
            sys.meta_path[:] = [one for one in sys.meta_path if one not in (finder, later)]
            for name in MAKES:
                spec = getattr(sys.modules.get(name), "__spec__", None)
                if getattr(spec, "loader", None) is finder:
                    del sys.modules[name]


# ---------------------------------------------------------------- PyTorch that finds no GPU


def without_gpu(torch: Any, stack: contextlib.ExitStack) -> None:
    """Until the stack is closed, tensors say that they are on a GPU, and stay where they are."""
    if not hasattr(torch, "overrides") or torch.cuda.is_available():
        return
    on_gpu, tensor = torch.device("cuda:0"), torch.Tensor
    answers = {tensor.is_cuda.__get__: True, tensor.device.__get__: on_gpu}

    def on_host(value: Any) -> Any:
        if isinstance(value, DeviceArray):
            value._lab_assume_written()
            return torch.from_numpy(value._lab_data)
        is_gpu = isinstance(value, (str, torch.device)) and str(value).startswith("cuda")
        return "cpu" if is_gpu else value

    class OnHost(torch.overrides.TorchFunctionMode):
        def __torch_function__(
            self, function: Any, types: Any, arguments: Any = (), options: Any = None
        ) -> Any:
            if function in answers:
                return answers[function]
            if function == tensor.cuda:
                return arguments[0]
            if function == tensor.__cuda_array_interface__.__get__:
                return interface(arguments[0])
            options = {name: on_host(value) for name, value in (options or {}).items()}
            if function != torch.device:
                arguments = tuple(map(on_host, arguments))
            return function(*arguments, **options)

    def interface(array: Any) -> dict[str, Any]:
        if array.requires_grad:
            raise RuntimeError("Can't get __cuda_array_interface__ on a Variable: call .detach()")
        with cuda.mapped(array.numpy()) as there:
            array._lab_memory = there
        answer: dict[str, Any] = there.__cuda_array_interface__
        return answer

    print("PyTorch finds no GPU: its tensors stay in the host's memory", file=sys.stderr)
    kinds = "Float Double Half Byte Char Short Int Long Bool".split()
    ours = {f"{kind}Tensor": getattr(torch, f"{kind}Tensor") for kind in kinds} | vars(CUDA)
    ours |= {"device_count": lambda: 1, "current_stream": Stream, "_lazy_init": lambda: None}
    ours |= {"get_device_name": lambda *which: "the lab's simulator"}
    ours |= {"set_device": lambda which: None, "empty_cache": lambda: None}
    backward = torch.autograd.function.BackwardCFunction

    def apply(self: Any, *gradients: Any) -> Any:
        with OnHost():  # PyTorch lays a mode aside while it goes backward
            return run_backward(self, *gradients)

    run_backward = backward.apply
    for owner, name, value in [
        *((torch.cuda, *our) for our in ours.items()),
        (backward, "apply", apply),
    ]:
        stack.callback(setattr, owner, name, getattr(owner, name, None))
        setattr(owner, name, value)
    stack.enter_context(OnHost())
