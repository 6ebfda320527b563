"""int() cuts off, too; white is put back by an if."""

from numba import float32, int32
from numba.extending import register_jitable


@register_jitable
def bin_of(brightness, bins):
    which = int(brightness * float32(bins))
    if which == bins:
        which -= 1
    return int32(which)
