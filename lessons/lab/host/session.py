"""A session without a GPU: its copies, its launches, and what was found in them."""

import gc
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple
from weakref import WeakSet, ref

import numpy as np

from ..dimensions import Configuration, Dim3, volume
from ..simulator.accepted import Acceptances
from ..simulator.findings import Finding, wanted_kinds
from ..simulator.foretell.model import Prediction
from ..simulator.options import BUDGET
from ..simulator.report import Report
from ..simulator.run import checked_run
from ..source import read_source
from .arguments import Prepared, extended, memory_of, places_of, types_of
from .device_array import DeviceArray, Room, adopted, garbage_like, plain
from .found import Found
from .host_array import HostArray, plain_array, watched
from .host_reads import ReadsOfOrdinaryArrays, stores_into_an_array
from .order import DEFAULT, HOST, Access, Order
from .places import Current, HostPlace, host_place
from .steps import FREE, LAUNCH, TO_DEVICE, TO_HOST, Step
from .streams import number_of

MANY_THREADS = 500_000  # a check of so many may take a while


class SessionOptions(NamedTuple):
    """native: run kernels in the native engine, which is fast and finds only indices outside an
    array. budget, kinds, without: as for `checked_run`. record: keep what `Session.html` needs.
    devices: how many there are. acceptances: findings that the project accepts. unwritten: look
    for elements that nobody writes. predict: a GPU for which launches are foretold; "" for none.
    """

    native: bool = False
    budget: int = BUDGET
    kinds: Iterable[str] | None = None
    without: Iterable[str] = ()
    record: bool = False
    devices: int = 1
    acceptances: Acceptances | None = None
    unwritten: bool = False
    predict: str = ""


class Session(Found):
    """What `instead_of_gpu` gives: everything that has been found so far; see `found.Found`."""

    def __init__(self, options: SessionOptions | None = None) -> None:
        self.options = options or SessionOptions()
        # (kernel, grid, block) -> what each launch of it would take
        self.foretold: dict[tuple[str, Dim3, Dim3], list[Prediction]] = {}
        kinds = wanted_kinds(self.options.kinds, self.options.without)
        super().__init__(kinds, self.options.acceptances)
        self.order = Order(self.check_source)
        self.too_early: set[tuple[int, int]] = set()  # operations that somebody did not wait for
        self.ordinary: set[tuple[int, int]] = set()  # operations that write ordinary arrays
        self.reads = ReadsOfOrdinaryArrays(self)
        self.pinned: list[np.ndarray] = []  # ordinary arrays that are pinned for a while
        self.rooms: WeakSet[Room] = WeakSet()  # the device's memory
        self.current = Current()
        # Copies from the device, and the numbers, from 1, of elements that no thread has written.
        self.missing: list[tuple[ref[np.ndarray], np.ndarray]] = []
        self.reached: set[Callable] = set()  # kernels of which a launch has reached all elements
        self.frees_later = 0  # how many blocks of cuda.defer_cleanup the program is in

    # ---------------------------------------------------------------- copies

    def copy_to_host(self, data: np.ndarray, target: Any, stream: Any) -> np.ndarray:
        """From the device; on a stream, the host does not wait.

        Pinned memory gets its numbers when the host has waited: whoever reads it before finds none.
        """
        new = target is None
        memory = np.empty_like(data) if new else plain_array(target)
        require_fitting(memory, data)
        queue, place = number_of(stream), host_place()
        number = self.order.enqueue(queue)
        waits = queue == DEFAULT or new or not self.is_pinned(target)
        self.order.steps.append(Step(TO_HOST, place, queue, waits, size=data.nbytes))
        self.use(queue, data, False, "a copy to the host", place)
        self.use(queue, memory, True, "a copy to the host", place)
        self.order.deliver(memory)
        brought = data.reshape(memory.shape)
        np.copyto(memory, brought if waits else garbage_like(memory))
        self.order.forget_sources(memory)
        if queue == DEFAULT:
            self.order.wait_for_stream(HOST, DEFAULT)
            return memory if new else target
        self.order.note(Access(data, False, queue, number, "a copy to the host", place))
        arrives = None if waits else brought.copy()
        what = "its copy to the host"
        self.order.note(Access(memory, True, queue, number, what, place, arrives=arrives))
        if new and stores_into_an_array("copy_to_host"):
            self.touch(memory, writes=False)
        # Copying one array into another asks neither of them.
        self.watch_ordinary(queue, number)
        return watched(self, memory) if new else target

    def copy_to_device(self, data: np.ndarray, source: Any, stream: Any) -> None:
        """From the host, or from another array on the device."""
        on_device = isinstance(source, DeviceArray)
        memory = np.asarray(plain_array(plain(source)))
        self.order.deliver(memory)
        require_fitting(data, memory)
        queue, place = number_of(stream), host_place()
        number = self.order.enqueue(queue)
        waits = queue == DEFAULT and not on_device
        self.order.steps.append(Step(TO_DEVICE, place, queue, waits, size=data.nbytes))
        self.use(queue, memory, False, "a copy to the device", place)
        self.use(queue, data, True, "a copy to the device", place)
        np.copyto(data, memory.reshape(data.shape))
        if queue == DEFAULT:
            if not on_device:
                self.order.wait_for_stream(HOST, DEFAULT)
            return
        self.order.note(Access(data, True, queue, number, "a copy to the device", place))
        if on_device or self.is_pinned(source):
            kept = None if on_device else memory.copy()
            what = "its copy to the device"
            self.order.note(Access(memory, False, queue, number, what, place, kept))

    def write_element(self, data: np.ndarray, item: Any, value: Any, stream: Any) -> None:
        """data[item] = value, for an array on the device."""
        queue, place = number_of(stream), host_place()
        number = self.order.enqueue(queue)
        self.use(queue, data, True, "a copy to the device", place)
        data[item] = value
        if queue != DEFAULT:
            self.order.note(Access(data, True, queue, number, "a copy to the device", place))

    def watch_ordinary(self, queue: int, number: int) -> None:
        """An operation writes an ordinary array, which does not tell who reads it."""
        self.ordinary.add((queue, number))
        self.reads.start()

    def is_watching(self) -> bool:
        """Whether such an operation may still be under way."""
        return any((a.stream, a.number) in self.ordinary for a in self.order.pending)

    def end(self) -> None:
        """The program is over: nothing is under way any more."""
        self.order.wait_for_everything()
        self.reads.stop()

    def is_pinned(self, array: Any) -> bool:
        """Whether a copy from here goes on by itself; from other memory the host waits for it."""
        if isinstance(array, HostArray):
            return True
        return any(np.may_share_memory(array, pinned) for pinned in self.pinned)

    def free(self, memory: np.ndarray, made: HostPlace) -> None:
        """No array of the program has this memory of the device any more.

        Numba collects a few of such, and frees them together: then the device has to finish all
        work, and the host waits for it.
        """
        access = self.order.user_of(memory)
        if access and not self.frees_later:
            self.order.steps.append(Step(FREE, made, access.stream, size=memory.nbytes))

    def bytes_on(self, device: int) -> int:
        return sum(room.memory.nbytes for room in self.rooms if room.device == device)

    def adopted(self, value: Any) -> Any:
        """An array of the lab for what has a `__cuda_array_interface__`; all else as it is."""
        held = getattr(value, "_lab_array", None)  # of a stand-in for CuPy or PyTorch
        value = held if isinstance(held, DeviceArray) else value
        if isinstance(value, (DeviceArray, np.ndarray, np.generic)):
            return value
        if type(value) is tuple:
            return tuple(map(self.adopted, value))
        description = getattr(value, "__cuda_array_interface__", None)
        return value if description is None else adopted(self, description)

    # ---------------------------------------------------------------- who may use what

    def watch_unwritten(self, array: np.ndarray, missing: np.ndarray, told_now: bool) -> np.ndarray:
        """A copy from the device of which no thread has written some elements: who reads those?

        told_now: the copy is told itself, since of its target nobody will know who reads it.
        """
        memory = array.base if isinstance(array, HostArray) else array
        if not self.options.unwritten or memory is None or memory.shape != missing.shape:
            return array
        if told_now:
            self.find_unwritten("copies", missing.size, missing.size, [0] * missing.ndim)
            return array
        numbers = np.empty_like(memory, dtype=np.int64)
        numbers[...] = np.where(missing, np.arange(1, missing.size + 1).reshape(missing.shape), 0)
        self.missing = [(there, old) for there, old in self.missing if there() is not None]
        self.missing.append((ref(memory), numbers))
        return watched(self, memory)

    def check_written(self, memory: np.ndarray, writes: bool, item: Any) -> None:
        for there, numbers in self.missing:
            whole = there()
            if whole is None or not np.may_share_memory(whole, memory):
                continue
            found = np.ravel(part_of(memory, whole, numbers)[item])
            found = found[(found > 0) & (not writes)]
            if writes or len(found):
                numbers[...] = 0  # told once; or not known any more
            if len(found):
                first = [int(i) for i in np.unravel_index(found[0] - 1, whole.shape)]
                self.find_unwritten("reads", len(found), whole.size, first)

    def find_unwritten(self, does: str, count: int, size: int, first: list[int]) -> None:
        some = "an element" if count == 1 else f"{count:,} elements"
        where = f", the first at {first}: is the grid too small, or a guard too strict?"
        if count == size:
            some = f"all {some}" if count > 1 else some
            where = ": was it given to a launch, and does a guard let any thread of it write?"
        message = f"the host {does} {some} of an array of the device that no thread has written"
        self.find_here("unwritten", message + where)

    def find_here(self, kind: str, message: str) -> None:
        """A finding at the line of the user's code that is running."""
        place = host_place()
        self.add(Finding(kind, place.line, message, file=place.file))

    def touch(self, memory: np.ndarray, writes: bool, item: Any = ...) -> None:
        """The host reads or writes memory that the device uses, too. item: of it, this part."""
        self.check_written(memory, writes, item)
        access = self.order.conflict(HOST, memory, writes)
        if access is None:
            return
        self.find_unsynchronised(
            host_place(),
            f"the host {'writes' if writes else 'reads'} this array here, but {describe(access)} "
            f"may not be done: {'write' if writes else 'read'} it after {waiting_for(access)}",
            access,
        )
        self.order.deliver(memory)

    def use(
        self, queue: int, memory: np.ndarray, writes: bool, what: str, place: HostPlace
    ) -> None:
        """A stream reads or writes memory: does nothing else use it at the same time?"""
        access = self.order.conflict(queue, memory, writes)
        if access is None:
            return
        self.find_unsynchronised(
            place,
            f"{what} on {stream_name(queue)} {'writes' if writes else 'reads'} an array that "
            f"{describe(access)} uses, and nothing puts the two streams in order: record an event "
            "on one and let the other wait for it"
            f"{self.waited_in_vain(queue, access)}",
            access,
        )

    def waited_in_vain(self, queue: int, access: Access) -> str:
        """What is said of an event that the stream waits for, and that does not help it."""
        own, other = (self.order.event_waits.get(one) for one in (queue, access.stream))
        waiting, wait, why = queue, own, own.in_vain(queue, access) if own else ""
        if not own and other and other.is_exchanged(queue, access):
            why = f"which was recorded on {stream_name(queue)}: exchange the two"
            waiting, wait = access.stream, other
        if not wait or not why:
            return ""
        return f" ({stream_name(waiting)} waits for an event in line {wait.place.line}, {why})"

    def check_source(self, access: Access) -> None:
        """A copy to the device is done: is its source what it was when the copy was queued?"""
        if access.source is None or (access.stream, access.number) in self.too_early:
            return
        if not same_bytes(access.source, access.memory):
            self.find_unsynchronised(
                access.place,
                "the host has changed this pinned array before its copy to the device was done: "
                f"call {waiting_for(access)} before you change it",
                access,
            )

    def find_early_time(self) -> None:
        """The host asks for the time of an event that the device may not have reached."""
        message = (
            "the host asks for the time between two events here, but one of them may not be "
            "reached: call event.synchronize() before"
        )
        self.find_here("unsynchronised", message)

    def find_unsynchronised(self, place: HostPlace, message: str, access: Access) -> None:
        self.too_early.add((access.stream, access.number))
        finding = Finding("unsynchronised", place.line, message, file=place.file)
        other = access.place
        self.add(finding._replace(other_file=other.file or None, other_line=other.line or None))

    # ---------------------------------------------------------------- launches

    def launch(self, kernel: Callable, chosen: Configuration, arguments: Sequence[Any]) -> None:
        """Run a kernel for everything between the brackets, and keep what is found."""
        queue, place = number_of(chosen.stream), host_place()
        arguments, when_done = extended(kernel, arguments, chosen.stream)
        arguments = [self.adopted(argument) for argument in arguments]
        self.check_devices(kernel, arguments)
        for memory in memory_of(arguments):
            self.order.deliver(memory)
        prepared = Prepared(kernel, arguments)
        number = self.order.enqueue(queue)
        before = [memory.copy() for memory in prepared.shared] if queue or prepared.visible else []
        waits = prepared.returns_to_host
        threads = volume(chosen.grid) * volume(chosen.block)
        types, arrays = types_of(prepared.values), places_of(prepared.values)
        self.order.steps.append(
            Step(LAUNCH, place, queue, waits, prepared.name, threads, types=types, arrays=arrays)
        )
        name = self.run(kernel, chosen, prepared)
        if self.acceptances is not None and not self.launches[name]:
            source = read_source(kernel)
            self.acceptances.lines_run |= {(source.filename, line) for line in source.lines}
        if queue and not self.launches[name]:
            gc.collect()  # Numba's compiler leaves cycles that hold the program's arrays
        self.launches[name] += 1
        prepared.copy_back()
        for call in when_done:
            call()
        what = f"the kernel {name}"
        for memory, old in zip(prepared.shared if before else (), before, strict=True):
            writes = not same_bytes(memory, old)
            self.use(queue, memory, writes, what, place)
            self.order.note(Access(memory, writes, queue, number, what, place))
        if prepared.returns_to_host and queue == DEFAULT:
            self.order.wait_for_stream(HOST, DEFAULT)
        elif prepared.returns_to_host:
            self.watch_ordinary(queue, number)

    def check_devices(self, kernel: Callable, arguments: Sequence[Any]) -> None:
        """A finding for an array that lies on another device than the launch."""
        here = self.current.stack[-1]
        for number, argument in enumerate(arguments, 1):
            if isinstance(argument, DeviceArray) and argument._lab_room.device != here:
                message = (
                    f"argument {number} of this launch lies on device {argument._lab_room.device}, "
                    f"and the kernel runs on device {here}, which cannot reach it: make the array "
                    "where it is used"
                )
                self.find_here("out-of-bounds", message)

    def warn_of_size(self, name: str, chosen: Configuration) -> None:
        threads = volume(chosen.grid) * volume(chosen.block)
        if threads > MANY_THREADS and name not in self.launches:
            print(f"checking {name} in {threads:,} threads; --native is faster", file=sys.stderr)

    def run(self, kernel: Callable, chosen: Configuration, prepared: Prepared) -> str:
        """Returns the kernel's name."""
        if self.options.native:
            from .native_launch import run_native

            for finding in run_native(kernel, chosen, prepared.values):
                self.add(finding)
            prepared.assume_written()
            return prepared.name
        self.warn_of_size(prepared.name, chosen)
        report = checked_run(
            kernel,
            chosen.grid,
            chosen.block,
            *prepared.values,
            measure=bool(self.options.predict),
            record=self.options.record and self.recorded is None,
            budget=self.options.budget,
            dynamic_shared=chosen.shared_bytes,
            uninitialised=prepared.garbage,
            unwritten=self.options.unwritten,
        )
        findings = report.findings
        if report.not_run:
            from .native_launch import after_unsupported

            first = next(
                (one for one in findings if one.kind == "unsupported"),
                Finding("unsupported", 0, "this simulator cannot run this kernel"),
            )
            findings = after_unsupported(kernel, chosen, prepared.values, first)
        if self.options.predict and report.ok:
            key = report.name, report.grid, report.block
            self.foretold.setdefault(key, []).append(report.predict(self.options.predict))
        self.forget_small_launches(report)
        for finding in findings:
            if finding.topic != "unreached" or report.source.function not in self.reached:
                self.add(finding)
        if not report.ok:
            prepared.assume_written()  # it may have ended early: nothing more follows from that
        if self.recorded is None and not report.ok:
            self.recorded = report
        return report.name

    def forget_small_launches(self, report: Report) -> None:
        """A launch that reaches all elements shows that a smaller one was meant to be small."""
        if any(finding.topic == "unreached" for finding in report.findings):
            return
        self.reached.add(report.source.function)
        lines, file = report.source.lines, report.source.filename
        self.findings = [
            one for one in self.findings
            if one.topic != "unreached" or one.file != file or one.line not in lines
        ]  # fmt: skip


def part_of(part: np.ndarray, whole: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Of numbers for the elements of `whole`, those for a part of it."""
    size = whole.dtype.itemsize
    if part.dtype.itemsize != size:
        return np.zeros(part.shape, np.int64)
    first = part.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    steps = [step // size * numbers.itemsize for step in part.strides]
    from_first = numbers.ravel(order="K")[first // size :]
    return np.lib.stride_tricks.as_strided(from_first, part.shape, steps)


def describe(access: Access) -> str:
    line = f" (line {access.place.line})" if access.place.line else ""
    return f"{access.what} on {stream_name(access.stream)}{line}"


def stream_name(number: int) -> str:
    return f"stream {number}" if number else "the default stream"


def waiting_for(access: Access) -> str:
    return "stream.synchronize()" if access.stream else "cuda.synchronize()"


def same_bytes(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays hold the same; NaN is the same as NaN."""
    return one.tobytes() == other.tobytes()


def require_fitting(target: np.ndarray, source: np.ndarray) -> None:
    """Raises what `numba.cuda` does for arrays that cannot be copied into each other."""
    if target.dtype != source.dtype:
        raise TypeError(f"incompatible dtype: {target.dtype} vs. {source.dtype}")
    if target.squeeze().shape != source.squeeze().shape:
        raise ValueError(f"incompatible shape: {target.shape} vs. {source.shape}")
