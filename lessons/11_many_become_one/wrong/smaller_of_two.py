"""The smaller one of two numbers is returned."""
# caught by: max
# diagnosis: smaller

from numba.extending import register_jitable


@register_jitable
def larger(first, second):
    if first != first:
        return first
    if second != second:
        return second
    if first < second:
        return first
    return second
