"""The lab: run a kernel anywhere, and see what it does.

`checked_run` simulates a kernel and finds its bugs; `native` compiles it for the CPU. Each is
loaded when it is first asked for: neither engine needs the other.
"""

import importlib
from collections.abc import Callable

HOMES = {"checked_run": "lessons.lab.simulator.run", "native": "lessons.lab.compiled.engine"}

__all__ = ["checked_run", "native"]


def __getattr__(name: str) -> Callable:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(HOMES[name]), name)
