"""Check a function that is the host's side of a program: it copies, launches and waits by itself.

    run = run_host_code(case, "shrink_on_gpu", image, 2)
    case.expect(run.result, reference.shrink(image, 2), "small")
    waits = run.waits()

Without a GPU the worker runs it on the lab's stand-in, which reports who reads what too early.
`steps` tells what the host has asked for, in its order; of a GPU nobody tells that, so what is
counted is always counted on the stand-in: `run_host_code(..., count=True)`.
"""

from typing import Any, NamedTuple

from lessons.grading.explain.messages import ENGINES, call_text
from lessons.grading.judge.case import Case
from lessons.grading.judge.worker_process import Arrays, returned_in
from lessons.grading.worker.outcome import Found, read_findings
from lessons.grading.worker.protocol import Json, Packer, whole
from lessons.grading.worker.text import printable
from lessons.lab.host.steps import LAUNCH, TO_DEVICE, TO_HOST

MOST_STEPS = 10_000


class HostStep(NamedTuple):
    """What the host has asked for; the fields are those of `lessons.lab.host.steps.Step`.

    arrays: a number for each array of a launch, the same for the same memory.
    """

    do: str
    line: int
    stream: int
    waits: bool
    name: str
    size: int
    value: float
    types: str = ""
    arrays: tuple[int, ...] = ()
    events: tuple[int, ...] = ()


class HostRun(NamedTuple):
    result: Any  # what the function has returned: arrays, numbers, tuples of them
    findings: list[Found]
    doubles: list[Found]
    steps: list[HostStep]  # none of a run on a GPU

    def launches(self) -> list[HostStep]:
        return [step for step in self.steps if step.do == LAUNCH]

    def copies(self) -> list[HostStep]:
        return [step for step in self.steps if step.do in (TO_DEVICE, TO_HOST)]

    def waits(self) -> list[HostStep]:
        """Where the host waits for the device, asked to or not."""
        return [step for step in self.steps if step.waits]


def run_host_code(
    case: Case, function: str, *arguments: object, engine: str = "checked", count: bool = False
) -> HostRun:
    """Call the student's `function(*arguments)`, on the stand-in or, where there is one, on a GPU.

    engine: "native" for large inputs. count: on the stand-in also where there is a GPU. Ends the
    check for whatever the stand-in finds, as `Case.run` does.
    """
    runs = case.runs
    backend = "cuda" if runs.on_gpu and not count else engine
    runs.note(backend, f"{call_text(function, arguments)} on {ENGINES[backend]}")
    runs.last.recorded_by = None
    worker = runs.loaded_worker()
    packer = Packer()
    packed = packer.packed(arguments)
    request = {"do": "host", "function": function, "arguments": packed, "backend": backend}
    run = runs.ask(lambda: worker.ask_for(request, packer.arrays, runs.deadline, run_in))
    runs.last.returned_by = function
    findings = runs.that_count(run.findings, run.doubles)
    if findings:
        runs.end_for(findings, worker)
    return run


def run_in(reply: Json, arrays: Arrays) -> HostRun:
    findings, doubles = read_findings(reply["findings"]), read_findings(reply["doubles"])
    return HostRun(returned_in(reply, arrays), findings, doubles, read_steps(reply["steps"]))


def read_steps(received: Any) -> list[HostStep]:
    """The steps in a reply. Raises `TypeError` or `ValueError` for nonsense."""
    if len(received) > MOST_STEPS:
        raise ValueError("more steps than any check needs")
    return [
        HostStep(
            printable(str(do)[:100]), whole(line), whole(stream), bool(waits),
            printable(str(name)[:100]), whole(size), float(value), printable(str(types)[:1000]),
            tuple(whole(array) for array in arrays), tuple(whole(event) for event in events),
        )
        for do, line, stream, waits, name, size, value, types, arrays, events in received
    ]  # fmt: skip
