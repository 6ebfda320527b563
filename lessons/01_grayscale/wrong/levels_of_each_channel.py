"""Each channel becomes one of 256 levels before it is weighed, and the sum once more."""
# caught by: luminance
# diagnosis: some are off by more than one of these

from numba import float32
from numba.extending import register_jitable


@register_jitable
def luminance(red, green, blue):
    total = 0
    for channel, weight in ((red, 2126), (green, 7152), (blue, 722)):
        total += int(channel * float32(255)) * weight // 10000
    return float32(total) / float32(255)
