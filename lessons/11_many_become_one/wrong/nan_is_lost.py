"""The larger one by comparison alone: a NaN in the first place is lost."""
# caught by: max
# diagnosis: NaN lost

from numba.extending import register_jitable


@register_jitable
def larger(first, second):
    if first > second:
        return first
    return second
