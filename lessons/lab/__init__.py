"""The lab: run a kernel anywhere, and see what it does.

`checked_run` simulates a kernel and finds its bugs; `native` compiles it for the CPU.
"""

from lessons.lab.checked import checked_run
from lessons.lab.native import native

__all__ = ["checked_run", "native"]
