"""`instead_of_gpu()`: host code for a GPU runs as it is, on the lab."""

import importlib
import sys
import types
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from numba import cuda
from numba.core import config

from .. import AfterImport
from ..frozen_globals import adopters
from ..names import SUCCESSORS, package_of
from ..simulator.accepted import Acceptances
from ..simulator.options import BUDGET
from .device_array import DeviceArray
from .launches import jit_replacement, kernel_methods
from .replacements import RUNTIME_VERSION, driver_functions, host_functions
from .session import Session, SessionOptions
from .stand_ins import stand_ins
from .ufuncs import ufunc_patches

MISSING = object()  # in the place of an attribute that was not there

# Modules that keep Numba's own functions.
NUMBAS = ("numba", "numba_cuda", "numba_cuda_mlir")


@contextmanager
def instead_of_gpu(
    native: bool = False,
    budget: int = BUDGET,
    kinds: Iterable[str] | None = None,
    without: Iterable[str] = (),
    quiet: bool = False,
    record: bool = False,
    devices: int = 1,
    baseline: str | None = None,
    update_baseline: bool = False,
    predict: str = "",
) -> Iterator[Session]:
    """While this block runs, `numba.cuda` needs no GPU, and every launch is checked.

    Arrays, streams, events and launches are those of a `Session`, which the block is given and
    which holds what was found. At the end its summary is printed to standard error if there are
    problems; `session.raise_if_problems()` makes them an exception.

    native: run kernels in the native engine, for large inputs; it finds only indices outside an
    array. budget, kinds, without: as for `checked_run`. quiet: print nothing. record: keep the
    first launch that has problems, for `session.html(path)`. devices: how many GPUs there are.
    baseline: path of a file of accepted findings. update_baseline: write it anew at the end.
    predict: a GPU, such as "H200", for which `session.foretold` says what each launch would take.

    Raises `InputError` if there is no such baseline.
    """
    acceptances = Acceptances(baseline, update_baseline)
    options = SessionOptions(
        native, budget, kinds, without, record, devices, acceptances, True, predict
    )
    session = Session(options)
    with replaced(session), stand_ins():
        yield session
    if update_baseline:
        session.findings = acceptances.write(session.findings)
    if (not session.ok or session.gone()) and not quiet:
        print("\n".join([session.summary(), *session.gone()]), file=sys.stderr)


@contextmanager
def replaced(session: Session) -> Iterator[None]:
    """While this block runs, the functions of `numba.cuda` are those of a session."""
    patches = Patches()

    def put_in(front: Any) -> None:
        inner = importlib.import_module(package_of(front))  # where a package's own functions look
        for name, value in host_functions(session).items():
            patches.replace(front, name, value)
            if inner is not front and hasattr(inner, name):
                patches.set(inner, name, value)
        patches.replace(front, "jit", jit_replacement(front.jit))
        for name, method in kernel_methods(session).items():
            patches.set(class_of_kernels(front), name, method)
        for module_name, attributes in inner_modules(session, front).items():
            for name, value in attributes.items() if module_name in sys.modules else ():
                patches.set(sys.modules[module_name], name, value)

    later = AfterImport(*SUCCESSORS, put_in)  # loading it takes seconds
    try:
        put_in(cuda)
        if later.wanted in sys.modules:
            put_in(sys.modules[later.wanted])
        else:
            sys.meta_path.insert(0, later)
        for owner, name, value in () if simulated() else ufunc_patches(vectorizers()):
            patches.set(owner, name, value)
        driver = sys.modules.get("numba.cuda.cudadrv.driver")
        if driver is not None and hasattr(driver, "Driver"):  # Numba's own simulator has none
            patches.set(driver.Driver, "get_version", lambda self: RUNTIME_VERSION)
        patches.everywhere()
        adopters.append(session.adopted)
        yield
    finally:
        if session.adopted in adopters:
            adopters.remove(session.adopted)
        session.end()
        if later in sys.meta_path:
            sys.meta_path.remove(later)
        patches.close()


def inner_modules(session: Session, front: Any) -> dict[str, dict[str, Any]]:
    """Modules that a program may ask in place of `numba.cuda`: what is replaced in each."""
    drivers = f"{package_of(front)}.cudadrv"
    return {
        f"{drivers}.devicearray": {
            "DeviceNDArray": DeviceArray,
            "is_cuda_ndarray": lambda obj: isinstance(obj, DeviceArray),
        },
        f"{drivers}.devices": {
            "gpus": front.gpus,
            "get_context": front.current_context,
            "require_context": lambda function: function,
            "reset": lambda: None,
        },
        f"{drivers}.driver": driver_functions(session),
    }


def simulated() -> bool:
    """Whether Numba's own simulator takes the place of `numba.cuda`."""
    return bool(getattr(config, "ENABLE_CUDASIM", False))


def vectorizers() -> types.ModuleType:
    return importlib.import_module("numba.cuda.vectorizers")


def class_of_kernels(front: Any) -> type:
    """What `cuda.jit` makes of a function: with a GPU, in Numba's simulator, in its successor."""
    if front is not cuda:
        kernels: type = importlib.import_module("numba_cuda_mlir.descriptor").MLIRDispatcher
        return kernels
    if simulated():
        from numba.cuda.simulator.kernel import FakeCUDAKernel

        return FakeCUDAKernel
    from numba.cuda.dispatcher import CUDADispatcher

    return CUDADispatcher


class Patches(ExitStack):
    """Attributes that are replaced until it is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.functions: list[tuple[Any, Any]] = []  # function of Numba's, what replaces it
        self.callback(lambda: exchange([(new, former) for former, new in self.functions]))

    def set(self, owner: Any, name: str, value: Any) -> None:
        former = vars(owner).get(name, MISSING)
        if former is MISSING:
            self.callback(delattr, owner, name)
        else:
            self.callback(setattr, owner, name, former)
        setattr(owner, name, value)

    def replace(self, module: types.ModuleType, name: str, value: Any) -> None:
        """A function of Numba's, here and wherever `everywhere` finds it."""
        original = getattr(module, name, MISSING)  # Numba's own simulator lacks some
        if original is not MISSING:
            self.functions.append((original, value))
        self.set(module, name, value)

    def everywhere(self) -> None:
        """Replace functions, too, where somebody has written `from numba.cuda import ...`."""
        exchange(self.functions)


def exchange(pairs: Iterable[tuple[Any, Any]]) -> None:
    """Wherever a module of the user's has the first object of a pair, give it the second."""
    new = {id(old): (old, replacement) for old, replacement in pairs}
    for module in list(sys.modules.values()):
        name = getattr(module, "__name__", None)
        if not isinstance(name, str) or name.partition(".")[0] in NUMBAS:
            continue
        for attribute, value in list(getattr(module, "__dict__", {}).items()):
            if id(value) in new and attribute != "__builtins__":
                setattr(module, attribute, new[id(value)][1])
