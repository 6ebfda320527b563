"""The kernels that learn a lake, and all that runs them. README.md gives the order to read in.

Nothing here imports `lessons` or `tests`.
"""
