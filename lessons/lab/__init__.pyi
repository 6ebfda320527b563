from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.abc import MetaPathFinder
from typing import Any

from .compiled.engine import native as native
from .errors import InputError as InputError
from .errors import ProblemsFound as ProblemsFound
from .host.instead_of_gpu import instead_of_gpu as instead_of_gpu
from .simulator.run import checked as checked
from .simulator.run import checked_run as checked_run

__version__: str

def loading() -> AbstractContextManager[None]: ...

class AfterImport(MetaPathFinder):
    wanted: str
    def __init__(self, wanted: str, then: Callable[[Any], None]) -> None: ...
