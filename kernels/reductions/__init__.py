"""Sums, maxima and running sums by warp shuffles, without atomics. README.md gives the order."""
