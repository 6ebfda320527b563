"""What a student's file gets in the place of modules and functions that reach beyond it.

Honest programs log, name constants by `enum`, ask `os.environ`, write to `sys.stderr`. Here is what
such programs use of these modules, made so that it changes and tells nothing of the process.
"""

import abc
import builtins
import contextlib
import dataclasses
import datetime
import enum
import functools
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any, cast

import numpy as np

from kernels.plumbing.errors import InputError

OWN = {"exercise"}  # the names of modules that are students' files
# Modules of classes that a class of a file may be derived from.
BASES = {
    "abc", "builtins", "collections", "collections.abc", "contextlib", "enum", "numbers", "typing",
    "kernels.plumbing.errors", __name__,
}  # fmt: skip


def is_of_a_file(thing: object) -> bool:
    """Whether it is a plain function or a class of a student's file."""
    kind = type(thing)
    if kind is FunctionType:
        return cast(FunctionType, thing).__globals__.get("__name__") in OWN
    return issubclass(kind, type) and cast(type, thing).__module__ in OWN


# ---------------------------------------------------------------- functools, dataclasses


def wraps(wrapped: object) -> Callable[[Any], Any]:
    """As that of functools, for functions of the file: it takes names, and no other attributes."""
    texts = {name: getattr(wrapped, name, None) for name in ("__name__", "__doc__")}

    def named(function: object) -> object:
        for name, text in texts.items() if is_of_a_file(function) else ():
            if type(text) is str:
                setattr(function, name, text)
        return function

    return named


def dataclass(kind: Any = None, **options: Any) -> Any:
    """As that of dataclasses, for classes of the file: it would change those of others, too."""
    if kind is None:
        return functools.partial(dataclass, **options)
    if not is_of_a_file(kind):
        raise InputError("dataclass(...) takes a class of this file")
    return dataclasses.dataclass(kind, **options)


def fields(thing: Any) -> tuple[Any, ...]:
    """As that of dataclasses, for a class of the file, or an instance of one."""
    kind = thing if isinstance(thing, type) else type(thing)
    if not (is_of_a_file(kind) and dataclasses.is_dataclass(kind)):
        raise InputError(f"{kind.__name__} is no dataclass of this file")
    found = dataclasses.fields(kind)
    if any(type(one) is not dataclasses.Field or one.name.startswith("__") for one in found):
        raise InputError(f"{kind.__name__} has fields that dataclass(...) has not made")
    return found


def values_of(thing: Any) -> Iterator[tuple[str, Any]]:
    return ((one.name, getattr(thing, one.name)) for one in fields(thing))


def asdict(thing: Any) -> dict[str, Any]:
    """As that of dataclasses, but what is no dataclass is not copied."""
    is_one = dataclasses.is_dataclass
    return {name: asdict(value) if is_one(value) else value for name, value in values_of(thing)}


def astuple(thing: Any) -> tuple[Any, ...]:
    is_one = dataclasses.is_dataclass
    return tuple(astuple(value) if is_one(value) else value for _, value in values_of(thing))


# ---------------------------------------------------------------- abc, enum, classes


class NoClass:
    """What `abc.ABCMeta` is to a file: it stands behind `metaclass=`, and makes nothing itself."""


def build_class(function: Any, name: str, *bases: Any, **keywords: Any) -> Any:
    """What makes the classes of a file: they are derived from what holds nothing of the grader."""
    if keywords.get("metaclass") is NoClass:
        keywords["metaclass"] = abc.ABCMeta
    for base in bases:
        known = getattr(base, "__module__", "")  # of a type hint, such as Generic[T], too
        if isinstance(base, Shown) or not (known in BASES or is_of_a_file(base)):
            raise InputError(f"a class of this file cannot be derived from one of {known}")
    return builtins.__build_class__(function, name, *bases, **keywords)


class KnownMembers(enum.EnumMeta):
    """The class of enumerations: a call looks a member up, or makes another enumeration."""

    def __call__(cls, *given: Any, **named: Any) -> Any:
        if cls.__members__:
            if len(given) != 1 or named:
                raise InputError(f"{cls.__name__}(...) takes the value of one member")
            return super().__call__(*given)
        if len(given) != 2 or not named.keys() <= {"start"} or type(given[0]) is not str:
            raise InputError("write an enumeration as a class, with a line per name")
        members = members_of(given[1], named.get("start", 1))
        return super().__call__(given[0], members, module=next(iter(OWN)))


def members_of(names: Any, start: Any) -> list[tuple[str, Any]]:
    """(name, value) of each member, of the kinds that say no more than what they are."""
    if type(names) is str:
        names = names.replace(",", " ").split()
    if type(names) not in (list, tuple, dict) or type(start) is not int:
        raise InputError("an enumeration takes its names as a text, a list, a tuple or a dict")
    pairs = [*names.items()] if type(names) is dict else [*names]
    if all(type(pair) is str for pair in pairs):
        pairs = [(name, start + number) for number, name in enumerate(pairs)]
    for pair in pairs:
        fits = type(pair) in (list, tuple) and len(pair) == 2 and type(pair[0]) is str
        if not fits or pair[0].startswith("_") or type(pair[1]) not in (int, float, str, bool):
            raise InputError("write an enumeration as a class, with a line per name")
    return [(name, value) for name, value in pairs]


def enumerations() -> dict[str, Any]:
    found: dict[str, Any] = {"auto": enum.auto, "unique": enum.unique}
    for name, kind in taken(enum, "Enum", "IntEnum", "Flag", "IntFlag", "StrEnum").items():
        found[name] = KnownMembers(name, (kind,), KnownMembers.__prepare__(name, (kind,)))
    return found


# ---------------------------------------------------------------- logging, sys


class Stream:
    """What `sys.stdout` and `sys.stderr` are to a file: it can be written to."""

    __slots__ = ("_name",)
    _name: str

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def __setattr__(self, name: str, value: object) -> None:
        raise InputError(f"a stream's {name} cannot be changed")

    def write(self, text: object) -> int:
        return int(getattr(sys, self._name).write(str(text)))

    def flush(self) -> None:
        getattr(sys, self._name).flush()

    def isatty(self) -> bool:
        return False


class Logger:
    """What `logging` hands out: it prints warnings, and has every method of a logger."""

    level = logging.WARNING
    handlers: tuple[()] = ()

    def __init__(self, *names: object, **options: object) -> None:
        self.name = "root"

    def log(self, level: int, message: object, *values: object, **options: object) -> None:
        if level >= self.level:
            print(str(message) % values if values else message, file=sys.stderr)

    def setLevel(self, level: Any) -> None:
        self.level = level if type(level) is int else logging.WARNING

    def isEnabledFor(self, level: int) -> bool:
        return level >= self.level

    def hasHandlers(self) -> bool:
        return True

    def addHandler(self, *given: object) -> None:
        """Handlers, formats and filters: nothing is done with them."""

    setFormatter = removeHandler = addFilter = close = flush = addHandler

    debug = functools.partialmethod(log, logging.DEBUG)
    info = functools.partialmethod(log, logging.INFO)
    warning = functools.partialmethod(log, logging.WARNING)
    error = exception = critical = fatal = functools.partialmethod(log, logging.ERROR)

    def getChild(self, *names: object) -> "Logger":
        return self


def logging_names() -> dict[str, Any]:
    root = Logger()
    levels = {name: getattr(logging, name) for name in
              ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", "NOTSET")}  # fmt: skip
    names = ("debug", "info", "warning", "error", "exception", "critical", "log")
    functions = {name: getattr(root, name) for name in names}
    kinds = dict.fromkeys(
        ("Logger", "LoggerAdapter", "Handler", "StreamHandler", "NullHandler", "Formatter",
         "getLogger"), Logger,
    )  # fmt: skip
    quiet = dict.fromkeys(("basicConfig", "disable", "captureWarnings"), root.addHandler)
    return {**levels, **functions, **kinds, **quiet, "basicConfig": ignored}


def ignored(*given: object, **options: object) -> None:
    """Does nothing."""


def warn(message: object, *others: object, **options: object) -> None:
    print(f"warning: {message}", file=sys.stderr)


def taken(module: ModuleType, *names: str) -> dict[str, Any]:
    """These names of a module, as they are; those that this Python has."""
    return {name: getattr(module, name) for name in names if hasattr(module, name)}


def make(names: Mapping[str, Mapping[str, Any]]) -> dict[str, ModuleType]:
    made = {}
    for name, values in names.items():
        made[name] = ModuleType(name)
        vars(made[name]).update(values)
    return made


STREAMS = {"stdout": Stream("stdout"), "stderr": Stream("stderr")}
ENVIRONMENT: dict[str, str] = {}  # nobody's: settings of a machine decide no grade
MODULES = make({
    "abc": {"ABC": abc.ABC, "abstractmethod": abc.abstractmethod, "ABCMeta": NoClass},
    "contextlib": taken(
        contextlib, "contextmanager", "suppress", "nullcontext", "closing", "ExitStack",
        "ContextDecorator", "AbstractContextManager",
    ),
    "dataclasses": {"dataclass": dataclass, "field": dataclasses.field,
                    "fields": fields, "asdict": asdict, "astuple": astuple,
                    **taken(dataclasses, "replace", "is_dataclass", "KW_ONLY")},
    "datetime": taken(datetime, "date", "datetime", "time", "timedelta", "timezone", "UTC"),
    "enum": enumerations(),
    "functools": {**taken(functools, "cache", "cached_property", "cmp_to_key", "lru_cache",
                          "partial", "reduce"), "wraps": wraps},
    "logging": logging_names(),
    "os": {"environ": ENVIRONMENT, "getenv": ENVIRONMENT.get, "linesep": "\n", "sep": "/"},
    "sys": {**STREAMS, "argv": ["exercise.py"],
            **taken(sys, "byteorder", "exit", "float_info", "maxsize", "platform", "version",
                    "version_info")},
    "warnings": {"warn": warn},
})  # fmt: skip
# Modules that are imported only by a file that asks for one of these names.
IF_NEEDED = {"os", "sys", "warnings"}


def imported(
    name: str, names: Any = None, places: Any = None, wanted: Any = (), level: int = 0
) -> Any:
    """What `import` does in a file."""
    return MODULES.get(name) or __import__(name, names, places, wanted, level)


# ---------------------------------------------------------------- classes that are only looked at


class Shown(type):
    """The class of what stands for a class of the process: it is compared and asked, not called."""

    _lab_class: type

    def __call__(cls, *given: object, **named: object) -> Any:
        how = ": write np.zeros, np.empty or np.array" if cls.__name__ == "ndarray" else ""
        raise InputError(f"{cls.__name__}(...) is not made here{how}")

    def __instancecheck__(cls, thing: object) -> bool:
        return isinstance(thing, cls._lab_class)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(getattr(kind, "_lab_class", kind), cls._lab_class)

    def __getitem__(cls, kind: object) -> type:
        return cls

    def __setattr__(cls, name: str, value: object) -> None:
        raise InputError(f"{cls.__name__} cannot be changed")


@functools.cache
def shown(kind: type) -> type:
    """What stands for a class in a file: to compare with, and to ask for its name."""
    return Shown(kind.__name__, (), {"__slots__": (), "_lab_class": kind})


NUMPY = {("numpy", "ndarray"): shown(np.ndarray), ("numpy.typing", "NDArray"): shown(np.ndarray)}


def stand_in(module: ModuleType, name: str) -> str | None:
    """The name in a file of what stands for a name of a module; None for what stays itself."""
    return f"_lab_{name}" if (module.__name__, name) in NUMPY else None


NAMES: dict[str, object] = {f"_lab_{name}": value for (_, name), value in NUMPY.items()}
