"""Shares of the pixels are compared, as float32."""
# caught by: levels
# diagnosis: shares in float32

from numba import cuda, float32


@cuda.jit
def find_levels(running, per_mille, levels):
    i = cuda.grid(1)
    bins = running.shape[0]
    if i < bins:
        total = float32(running[bins - 1])
        share = float32(running[i]) / total
        share_before = float32(running[i - 1]) / total if i > 0 else float32(0)
        for k in range(per_mille.shape[0]):
            quantile = max(float32(per_mille[k]) / float32(1000), float32(1) / total)
            if share_before < quantile and share >= quantile:
                levels[k] = i
