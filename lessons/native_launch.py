"""Start a kernel on the lab's native engine, for commands that also know GPUs."""

from collections.abc import Callable

from kernels.plumbing.errors import InputError
from lessons.lab.compiled.engine import launch as launch_native
from lessons.lab.errors import InputError as LabError


def launch(kernel: Callable, blocks: object, threads: object, *arguments: object) -> None:
    """A launcher as `kernels.launch` has them. Raises `InputError` for what the engine refuses.

    Whether the kernels compile for a GPU too, the tests say, and the lessons' checks.
    """
    try:
        launch_native(kernel, blocks, threads, *arguments, ask_numba=False)
    except LabError as error:
        raise InputError(str(error)) from None
