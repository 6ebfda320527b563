"""Derivatives by machine: a tape of steps, and the kernels that are written from it.

What `writer` writes imports `functions` and `blocks`, and nothing else here.
"""
