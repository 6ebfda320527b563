"""Kernels as other people write them with numba.cuda, half of them with one mistake each."""
