"""In the worker: run a student's function that is the host's side of a program for a GPU.

Without a GPU the lab stands in for it (`lessons.lab.host`): it runs each kernel in an engine, and
looks at who reads what before it is there. Here that is done for a check, which also asks where
results come from: each array that the function returns was computed by a kernel, and copied back.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from kernels.plumbing.errors import InputError
from lessons.grading.walls.limits import MOST_ROUNDS
from lessons.grading.worker.own_kernels import (
    MOST_NUMBERS,
    NoKernel,
    exact,
    flat,
    function_of,
    require_kernel_of_the_course,
)
from lessons.grading.worker.reported import Finding, as_sent
from lessons.lab.dimensions import Configuration
from lessons.lab.host.device_array import DeviceArray, garbage_like
from lessons.lab.host.host_array import plain_array
from lessons.lab.host.instead_of_gpu import replaced
from lessons.lab.host.order import ALL_STREAMS, HOST
from lessons.lab.host.places import HostPlace, host_place, leave_out
from lessons.lab.host.session import Session, SessionOptions
from lessons.lab.host.steps import HOST_WAITS, LAUNCH, TO_HOST
from lessons.lab.simulator.findings import Finding as LabFinding

DOUBLES = (
    "an array on the device holds float64, which most GPUs compute 32 or 64 times slower, and of "
    "which twice as many bytes travel: say np.float32 where you make it, as in "
    "cuda.device_array(shape, np.float32)"
)
HINTS = "In", "Out", "InOut"  # what cuda.In(array) and its like are made of
SentStep = tuple[str, int, int, bool, str, int, float, str, list[int], list[int]]

leave_out(str(Path(__file__).resolve().parents[1]))


class HostArrayInLaunch(Exception):
    """A kernel was given an array of the host, which Numba copies there and back by itself."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(
            f"{name} is given {what} of the host. Numba would copy it to the device and back at "
            "each launch, and wait: copy it yourself, with cuda.to_device, and make room for the "
            "result with cuda.device_array"
        )


class CopiedOver(Exception):
    """A result was lost, since another was copied to the same array."""


class NotCopiedBack(Exception):
    """What is returned was copied to the device, and nothing has come back into it."""


class Sent(NamedTuple):
    """An array of the host that was copied to the device: what it held, and where."""

    array: np.ndarray
    held: bytes
    place: HostPlace


class HostSession(Session):
    """A session that lets no number reach a result but through kernels.

    sent: the arrays of the check. path: of the student's file. function: which of it is run.
    """

    def __init__(
        self, sent: Sequence[np.ndarray], path: str, function: str, options: SessionOptions
    ) -> None:
        super().__init__(options)
        self.sent = list(sent)
        self.path = path
        self.function = function
        # Contents that came from the check, or from kernels; and how many numbers did not.
        self.known = {array.tobytes() for array in sent}
        self.own_numbers = 0
        self.targets: list[np.ndarray] = []  # of copies to the host
        self.sources: list[Sent] = []  # of copies to the device

    def copy_to_host(self, data: np.ndarray, target: Any, stream: Any) -> np.ndarray:
        self.known.add(data.tobytes())
        result = super().copy_to_host(data, target, stream)
        self.targets.append(plain_array(result))
        return result

    def copy_to_device(self, data: np.ndarray, source: Any, stream: Any) -> None:
        if not isinstance(source, DeviceArray):
            array = np.asarray(plain_array(source))
            self.require_known(array)
            self.sources.append(Sent(array, array.tobytes(), host_place()))
        super().copy_to_device(data, source, stream)

    def write_element(self, data: np.ndarray, item: Any, value: Any, stream: Any) -> None:
        self.require_known(np.asarray(plain_array(value)))
        super().write_element(data, item, value, stream)

    def require_known(self, array: np.ndarray) -> None:
        """Raise `NoKernel` for numbers that the function has computed itself."""
        self.order.deliver(array)  # a stream is about to read it
        of_the_check = any(np.may_share_memory(array, sent) for sent in self.sent)
        if of_the_check or array.tobytes() in self.known:
            return
        is_one_number = array.size > 0 and bool((array == array.flat[0]).all())
        self.own_numbers += 1 if is_one_number else array.size
        if self.own_numbers > MOST_NUMBERS:
            raise NoKernel(
                f"{self.function} copies numbers to the device that it has computed itself, of "
                f"shape {array.shape}: copy what it was called with, and let kernels compute"
            )

    def launch(self, kernel: Callable, chosen: Configuration, arguments: Sequence[Any]) -> None:
        require_kernel_of_the_course(kernel, self.path)
        for value in flat(arguments):
            if isinstance(value, np.ndarray):
                raise HostArrayInLaunch(name_of(kernel), f"an array {value.shape}")
            if type(value).__name__ in HINTS:
                raise HostArrayInLaunch(name_of(kernel), f"cuda.{type(value).__name__}(...)")
            if isinstance(value, DeviceArray) and value._lab_session is not self:
                raise NoKernel(
                    f"{self.function} gives {name_of(kernel)} an array of an earlier run, or one "
                    "that neither cuda.to_device nor cuda.device_array has made"
                )
            if isinstance(value, DeviceArray) and value.dtype == np.float64:
                place = host_place()
                double = LabFinding("slow", place.line, DOUBLES, True, place.file, "double")
                self.add(double)
        super().launch(kernel, chosen, [exact(value) for value in arguments])

    # ---------------------------------------------------------------- at the end

    def finish(self, returned: object) -> object:
        """What the function has returned, as it can be sent.

        Raises `NoKernel`, `NotCopiedBack`, `CopiedOver`, `InputError`.
        """
        self.reads.stop()
        result = as_plain(returned, self.function)
        for array in (one for one in flat((result,)) if isinstance(one, np.ndarray)):
            self.require_done(array)
            self.order.deliver(array)
            if array.tobytes() in self.known or self.was_read_too_early(array):
                continue
            if sum(np.may_share_memory(array, target) for target in self.targets) > 1:
                raise CopiedOver(
                    f"{self.function} returns an array of shape {array.shape} to which several "
                    "copies have gone, so that what the first has brought is lost: each result "
                    "needs an array of its own"
                )
            self.require_copied_back(array)
            raise NoKernel(
                f"{self.function} returns an array of shape {array.shape} which no copy_to_host "
                "has brought as it is: it was computed, changed or put together on the host. Let "
                "kernels make all of it, and return what one copy has brought"
            )
        return result

    def require_copied_back(self, array: np.ndarray) -> None:
        """Raise `NotCopiedBack` for an array that is as it was when it was copied to the device."""
        started = any(step.do == LAUNCH for step in self.order.steps)
        if not started or any(np.may_share_memory(array, target) for target in self.targets):
            return
        for sent in self.sources:
            if np.may_share_memory(array, sent.array) and array.tobytes() == sent.held:
                own = sent.place.file == self.path
                where = f"line {sent.place.line} copied" if own else "the host copied"
                raise NotCopiedBack(
                    f"{self.function} returns an array of shape {array.shape} as it was when "
                    f"{where} it to the device: what a kernel writes there does not come back by "
                    "itself. Return what copy_to_host brings of the array on the device"
                )

    def require_done(self, array: np.ndarray) -> None:
        """Whoever called the function reads what it returns, at once."""
        access = self.order.conflict(HOST, array, writes=False)
        if access is None:
            return
        place = access.place
        waited = [step for step in self.order.steps if step.do == HOST_WAITS]
        others = [step for step in waited if step.place.file == place.file]
        remedy = "call stream.synchronize() before `return`"
        if others and others[-1].stream not in (ALL_STREAMS, access.stream):
            remedy = (
                f"line {others[-1].place.line} waits for stream {others[-1].stream} alone, which "
                "says nothing of other streams. Wait for each that has work"
            )
        message = (
            f"the result is returned and read while {access.what} on stream {access.stream} may "
            f"not be done: {remedy}"
        )
        self.add(LabFinding("unsynchronised", place.line, message, file=place.file))

    def was_read_too_early(self, array: np.ndarray) -> bool:
        """Whether it holds what is in pinned memory before a copy has brought its numbers."""
        copies = [step for step in self.order.steps if step.do == TO_HOST and not step.waits]
        if not copies or array.tobytes() != garbage_like(array).tobytes():
            return False
        message = (
            "the result was read before a copy to the host on a stream was done: call "
            "stream.synchronize() before you read it"
        )
        place = copies[-1].place
        self.add(LabFinding("unsynchronised", place.line, message, file=place.file))
        return True


def as_plain(result: object, function: str) -> object:
    """A returned value with plain tuples and plain arrays in it, whatever they call themselves.

    Raises `InputError` for an array on the device.
    """
    if isinstance(result, DeviceArray):
        raise InputError(
            f"{function} returns an array that is still on the device: copy_to_host brings it here"
        )
    if isinstance(result, (tuple, list)):
        return tuple(as_plain(item, function) for item in result)
    return np.asarray(plain_array(result)) if isinstance(result, np.ndarray) else result


def name_of(kernel: object) -> str:
    return str(getattr(function_of(kernel), "__name__", "a kernel"))


# ---------------------------------------------------------------- one run


class HostRun:
    """What came of a run: `result`, findings and doubles, and the steps of the host."""

    def __init__(self, result: object, session: HostSession | None, path: str) -> None:
        self.result = result
        self.findings: list[Finding] = []
        self.doubles: list[Finding] = []
        self.steps: list[SentStep] = []
        if session is None:
            return
        self.findings = [as_sent(finding, path) for finding in session.problems]
        doubles = [finding for finding in session.findings if finding.topic == "double"]
        self.doubles = [as_sent(finding, path) for finding in doubles]
        places = [0, *(place for step in session.order.steps for place in step.arrays)]
        numbers = {place: number for number, place in enumerate(dict.fromkeys(places))}
        self.steps = [
            (
                step.do, step.place.line, step.stream, step.waits, step.name, step.size,
                step.value, step.types, [numbers[place] for place in step.arrays],
                list(step.events),
            )
            for step in session.order.steps
        ]  # fmt: skip


def fixed(array: np.ndarray) -> np.ndarray:
    """A copy that nobody can write to: what it was called with, a function only reads.

    Its numbers stand in `bytes`; of memory of its own, an array can be told to be writeable again.
    """
    return np.ndarray(array.shape, array.dtype, array.tobytes() or bytes(1))


def run_host_code(
    name: str,
    function: Callable,
    arguments: Sequence[object],
    arrays: Sequence[np.ndarray],
    path: str,
    backend: str,
) -> HostRun:
    """Call `function(*arguments)`: on the lab's stand-in, or on a GPU for the backend "cuda".

    name: of the function. arrays: those of the check, made by `fixed`, as they are in `arguments`.
    path: of the student's file.
    """
    if backend == "cuda":
        result = function(*arguments)
        cuda.synchronize()
        return HostRun(as_plain(result, name), None, path)
    options = SessionOptions(native=backend == "native", budget=MOST_ROUNDS)
    session = HostSession(arrays, path, name, options)
    with replaced(session):
        result = session.finish(function(*arguments))
    return HostRun(result, session, path)
