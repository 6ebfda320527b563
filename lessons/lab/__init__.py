"""The lab: run a kernel anywhere, and see what it does.

`checked_run` simulates a kernel and finds its bugs; `native` compiles it for the CPU.
"""

from lessons.lab.compiled.engine import native
from lessons.lab.simulator.run import checked_run

__all__ = ["checked_run", "native"]
