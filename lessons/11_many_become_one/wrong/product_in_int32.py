"""A thousand times the pixels of a photograph do not fit into an int32."""
# caught by: levels
# diagnosis: does not fit

from numba import cuda, int32


@cuda.jit
def find_levels(running, per_mille, levels):
    i = cuda.grid(1)
    if i >= running.shape[0]:
        return
    total = running[running.shape[0] - 1]
    here = running[i]
    previous = int32(0)
    if i > 0:
        previous = running[i - 1]
    for k in range(per_mille.shape[0]):
        needed = max(int32(per_mille[k] * total), int32(1000))
        if int32(here * 1000) >= needed and int32(previous * 1000) < needed:
            levels[k] = i
