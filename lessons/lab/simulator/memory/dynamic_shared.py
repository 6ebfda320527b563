"""Arrays of size 0, which all begin at the first byte of dynamic shared memory."""

import numpy as np

from ..reporter import Reporter
from ..teams import Launch, first_of
from .access import Access, name_element, place_of_element
from .arrays import DynamicShared


def check_dynamic(
    access: Access, dynamic: DynamicShared, launch: Launch, reporter: Reporter
) -> None:
    """Look for reads of what nobody has written, or was written through another of the arrays."""
    memory = access.memory
    number = memory.dynamic_number
    writer = dynamic.writer[memory.cells(access.element)] if access.kind != "write" else None
    if access.kind == "write" or writer is None:
        dynamic.writer[memory.cells(access.element)] = number
        return
    strange = (writer != number).any(axis=1)
    if not strange.any():
        return
    first = first_of(strange)
    owner = int(writer[first][writer[first] != number][0])
    place = place_of_element(launch.place_of(access.thread[first]), memory, access.element[first])
    what = (
        f"{name_element(memory, access.element[first])} is read by "
        f"{launch.name_thread(access.thread[first])}, but "
    )
    if owner == 0:
        what += (
            "nobody has written it yet; shared memory starts with garbage on a GPU: is a barrier "
            "or a store missing?"
        )
    elif not dynamic.same_function(owner, number):
        return  # a device function that reaches for the memory of its caller means to share it
    else:
        name, other = memory.name, dynamic.memories[owner - 1].name
        what += (
            f"what lies there was written through {other}: arrays of size 0 all begin at the first "
            "byte of dynamic shared memory. Divide it: "
            f"{name} = cuda.shared.array(0, ...)[:n], {other} = cuda.shared.array(0, ...)[n:]"
        )
    reporter.add("uninitialised", access.node, what, memory.name, access=first, place=place)
    dynamic.writer[memory.cells(access.element)[np.flatnonzero(strange)]] = number
