"""A share of 0 asks for no pixel at all, and no bin is the first with none."""
# caught by: levels
# diagnosis: no pixel is enough

from numba import cuda, int64


@cuda.jit
def find_levels(running, per_mille, levels):
    i = cuda.grid(1)
    if i >= running.shape[0]:
        return
    total = int64(running[running.shape[0] - 1])
    here = int64(running[i])
    previous = int64(0)
    if i > 0:
        previous = int64(running[i - 1])
    for k in range(per_mille.shape[0]):
        needed = int64(per_mille[k]) * total
        if here * 1000 >= needed and previous * 1000 < needed:
            levels[k] = i
