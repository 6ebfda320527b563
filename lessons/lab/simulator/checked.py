"""`checked(kernel)[grid, block, stream, shared_bytes](...)`: a checked run as CUDA writes it."""

from collections.abc import Callable
from typing import Any

from ..dimensions import Configuration, configuration, forall_configuration
from ..errors import refuse_names
from .report import Report
from .run import checked_run


def checked(kernel: Callable, **options: Any) -> "CheckedKernel":
    """A form of `kernel` that is launched as on a GPU, and returns a `Report`.

    kernel, options: as for `checked_run`. The stream is not used: the launch is over when it
    returns. `checked(kernel)[grid, block](*arrays).raise_if_problems()` is a test.
    """
    return CheckedKernel(kernel, options)


class CheckedKernel:
    """What `checked` returns: a kernel that waits for its grid and block."""

    def __init__(self, kernel: Callable, options: dict[str, Any]) -> None:
        self.kernel = kernel
        self.options = options

    def __getitem__(self, dimensions: tuple) -> Callable[..., Report]:
        return self.configured(configuration(dimensions))

    def forall(
        self, tasks: int, threads: int = 0, stream: object = 0, shared_bytes: int = 0
    ) -> Callable[..., Report]:
        """As many blocks as it takes to have a thread per task. threads: per block; 0: 128."""
        return self.configured(forall_configuration(tasks, threads, stream, shared_bytes))

    def configured(self, chosen: Configuration) -> Callable[..., Report]:
        options = {"dynamic_shared": chosen.shared_bytes, **self.options}

        def launch(*arguments: object, **by_name: object) -> Report:
            refuse_names(by_name)
            return checked_run(self.kernel, chosen.grid, chosen.block, *arguments, **options)

        return launch
