"""Bare literals are doubles: the result is right, and the arithmetic up to 64 times slower."""
# caught by: float32
# diagnosis: slow

from numba.extending import register_jitable


@register_jitable
def luminance(red, green, blue):
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
