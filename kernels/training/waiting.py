"""What a user sees while waiting: what is being compiled, and then how far the training is.

The compiler does not come back to Python for seconds, and cannot be interrupted. So it works on a
thread of its own, while the main thread shows what it is at, and listens to Ctrl-C.
"""

import gc
import importlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NoReturn, TypeVar

from tqdm import tqdm

Result = TypeVar("Result")

SECONDS_BETWEEN_LOOKS = 0.2
SECONDS_UNTIL_SHOWN = 0.4
SECONDS_BETWEEN_LINES = 10.0  # at first
USUAL_SIZE = {"ncols": 80, "nrows": 24}
# The first steps also fill caches and write the first pictures: their rate would mislead.
SECONDS_UNTIL_ESTIMATED = 3.0
WITHOUT_ESTIMATE = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"
# Numba for the CPU and for a GPU tell of each pass over a function that they compile.
EVENT_SOURCES = {
    "numba.core.event": "numba:run_pass",
    "numba.cuda.core.event": "numba-cuda:run_pass",
}
OUR_MODULES = ("kernels.", "lessons.", "exercise")

# One per thread that works, set when it is done. `Thread.is_alive` would not do: in Python 3.11 and
# before, a thread whose `join` was interrupted is said to be dead.
at_work: list[threading.Event] = []


def patiently(what: str, work: Callable[[], Result], quiet: bool = False) -> Result:
    """The value of `work()`, or its exception; meanwhile a line tells what is being compiled.

    what: how the line begins. quiet: show nothing. Ctrl-C raises `KeyboardInterrupt` at once; the
    thread then goes on by itself until its work is done, see `leave`.
    """
    outcome: dict[str, Any] = {}
    done = threading.Event()

    def run() -> None:
        try:
            outcome["value"] = work()
        except BaseException as error:  # raised again where somebody waits for it
            outcome["error"] = error
        done.set()

    at_work.append(done)
    with compiled_functions() as names, status_line(quiet) as line, without_collecting():
        threading.Thread(target=run, daemon=True).start()
        while not done.wait(SECONDS_BETWEEN_LOOKS):
            line.set_description_str(f"{what}: {names[-1]}" if names else what)
    at_work.remove(done)
    if "error" in outcome:
        raise outcome["error"]
    return outcome["value"]


@contextmanager
def without_collecting() -> Iterator[None]:
    """Look for no garbage: among the compiler's millions of objects that is a tenth of its time.

    Little is found there: without looking, the program's memory grows by a twentieth.
    """
    collected = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collected:
            gc.enable()


def is_screen() -> bool:
    """Whether progress is seen where a line can be drawn anew, and not kept in a file."""
    return sys.stderr.isatty() or "IPython" in sys.modules


def status_line(quiet: bool) -> tqdm:
    """A line that is shown if the wait is long, and gone when it is over; none in a file."""
    return tqdm(
        bar_format="{desc} [{elapsed}]", delay=SECONDS_UNTIL_SHOWN, leave=False,
        disable=quiet or not is_screen(), **size_of_a_silent_terminal(),
    )  # fmt: skip


def size_of_a_silent_terminal() -> dict[str, int]:
    """Arguments for a bar, if the terminal does not tell its size; else none.

    In a container, or under `script`, it has 0 columns, and a bar of that width is not seen.
    """
    try:
        told = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):  # not a terminal; a stream without a descriptor
        return {}
    return {} if told else USUAL_SIZE


@contextmanager
def compiled_functions() -> Iterator[list[str]]:
    """A list that grows by the name of each of our functions as the compiler comes to it."""
    names: list[str] = []
    listeners = []
    for module, kind in EVENT_SOURCES.items():
        try:
            events = importlib.import_module(module)
        except ImportError:  # there is no compiler for GPUs
            continue
        listener = listener_for(events, names)
        events.register(kind, listener)
        listeners.append((events, kind, listener))
    try:
        yield names
    finally:
        for events, kind, listener in listeners:
            events.unregister(kind, listener)


def listener_for(events: Any, names: list[str]) -> Any:
    class NameListener(events.Listener):
        def on_start(self, event: Any) -> None:
            if event.data["module"].startswith(OUR_MODULES):
                names.append(event.data["qualname"].rpartition(".")[2])

        def on_end(self, event: Any) -> None:
            pass

    return NameListener()


def leave(status: int) -> NoReturn:
    """End the program with an exit status, even if a thread is still inside the compiler.

    Such a thread cannot be stopped, and would crash if Python tidied up under it: so all of the
    process ends at once. After success too, when all files are closed: to give back what the
    compiler took, object by object, takes Python a second. In a notebook, which lives on, a thread
    is left to finish.
    """
    compiling = not all(done.is_set() for done in at_work)
    if (compiling or status == 0) and "IPython" not in sys.modules:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


# ---------------------------------------------------------------- while training


class TrainingBar(tqdm):
    """A progress bar that does not estimate the time left before it can know."""

    @property
    def format_dict(self) -> dict[str, Any]:
        fields = super().format_dict
        if fields["elapsed"] < SECONDS_UNTIL_ESTIMATED and fields["n"] < fields["total"]:
            fields["bar_format"] = WITHOUT_ESTIMATE
        return fields


class TrainingLines(AbstractContextManager):
    """The same where lines are kept, as in a file: a short one now and then, and ever more seldom.

    It has of `TrainingBar` what is called here.
    """

    def __init__(self, done: int, steps: int, unit: str) -> None:
        self.n, self.steps, self.unit, self.postfix = done, steps, unit, ""
        self.begin = time.monotonic()
        self.due = self.begin + SECONDS_BETWEEN_LINES

    def __exit__(self, *exception: object) -> None:
        pass

    def set_postfix_str(self, text: str, refresh: bool = False) -> None:
        self.postfix = f": {text}"

    def update(self, count: int = 1) -> None:
        self.n += count
        now = time.monotonic()
        if now >= self.due or self.n == self.steps:
            self.due = now + max(SECONDS_BETWEEN_LINES, (now - self.begin) / 10)
            print(f"{self.unit} {self.n:,} of {self.steps:,}{self.postfix}", file=sys.stderr)


def training_bar(
    done: int, steps: int, quiet: bool, unit: str = "step"
) -> TrainingBar | TrainingLines:
    """The bar of a run of `steps` steps, or what else is counted, of which some are done."""
    if not quiet and not is_screen():
        return TrainingLines(done, steps, unit)
    return TrainingBar(
        total=steps, initial=done, desc="training", unit=f" {unit}", disable=quiet,
        **size_of_a_silent_terminal(),
    )  # fmt: skip


# ---------------------------------------------------------------- afterwards


class Timings:
    """Where the seconds of a run go: its parts, one after another, each with its seconds.

    begin: what `time.perf_counter` said when the program began.
    """

    def __init__(self, begin: float) -> None:
        self.parts: list[tuple[str, float]] = []
        self.last = begin

    def end_of(self, part: str, without: float = 0.0) -> None:
        """The time since the last part went into this one, but for `without` seconds of it."""
        now = time.perf_counter()
        self.parts.append((part, now - self.last - without))
        self.last = now

    def add(self, part: str, seconds: float) -> None:
        """Seconds that another part is `without`."""
        self.parts.append((part, seconds))

    def table(self) -> str:
        """A line for each part, and their sum."""
        total = sum(seconds for _, seconds in self.parts)
        rows = [*self.parts, ("in all", total)]
        return "\n".join(f"{seconds:9.2f} s  {part}" for part, seconds in rows)
