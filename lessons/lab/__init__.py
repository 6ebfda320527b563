"""The lab: run a kernel anywhere, and see what it does.

`checked_run` and `checked` simulate a kernel and find its bugs; `native` compiles it for the CPU.
Each is loaded when it is first asked for: neither engine needs the other.
"""

import importlib
from collections.abc import Callable

HOMES = {
    "checked_run": ".simulator.run",
    "checked": ".simulator.run",
    "native": ".compiled.engine",
    "instead_of_gpu": ".host.instead_of_gpu",
    "InputError": ".errors",
    "ProblemsFound": ".errors",
}

__all__ = ["InputError", "ProblemsFound", "checked", "checked_run", "instead_of_gpu", "native"]


def __getattr__(name: str) -> Callable:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(HOMES[name], __name__), name)
