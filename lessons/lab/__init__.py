"""The lab: run a kernel anywhere, and see what it does.

`checked_run` and `checked` simulate a kernel and find its bugs; `native` compiles it for the CPU.
Each is loaded when it is first asked for: neither engine needs the other.

`@cuda.jit("void(float32[:])")` compiles at once, for which it needs a GPU. Where there is none, and
the lab was imported before, it waits for the first launch as other kernels do.
"""

import contextlib
import functools
import gc
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

HOMES = {
    "checked_run": ".simulator.run",
    "checked": ".simulator.run",
    "native": ".compiled.engine",
    "instead_of_gpu": ".host.instead_of_gpu",
    "InputError": ".errors",
    "ProblemsFound": ".errors",
}

__version__ = "0.1.0"
__all__ = ["InputError", "ProblemsFound", "checked", "checked_run", "instead_of_gpu", "native"]


def __getattr__(name: str) -> Callable:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(HOMES[name], __name__), name)


@contextlib.contextmanager
def loading() -> Iterator[None]:
    """While modules come, nothing is garbage: to look for it would take a tenth of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


class AfterImport(MetaPathFinder):
    """Sees a module come, once, and calls a function with it."""

    def __init__(self, wanted: str, then: Callable[[Any], None]) -> None:
        self.wanted, self.then = wanted, then

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if name != self.wanted:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return None
        run = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            self.then(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def let_signatures_wait(cuda: Any) -> None:
    original = cuda.jit

    @functools.wraps(original)
    def jit(func_or_sig: Any = None, *others: Any, **options: Any) -> Any:
        if func_or_sig is None or inspect.isfunction(func_or_sig) or cuda.is_available():
            return original(func_or_sig, *others, **options)
        from .host.launches import jit_replacement

        return jit_replacement(original)(func_or_sig, *others, **options)

    cuda.jit = jit


if "numba.cuda" in sys.modules:
    let_signatures_wait(sys.modules["numba.cuda"])
else:
    sys.meta_path.insert(0, AfterImport("numba.cuda", let_signatures_wait))
