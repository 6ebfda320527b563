"""Kernels of many kinds, right and wrong, on both engines."""
