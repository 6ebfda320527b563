"""What a team runs with: the parts that expressions, statements and functions of cuda share."""

from typing import NamedTuple

from lessons.lab.simulator.barriers import Barriers
from lessons.lab.simulator.frames import CallStack
from lessons.lab.simulator.memory.checker import MemoryChecker
from lessons.lab.simulator.memory.recorder import Recorder
from lessons.lab.simulator.reporter import Reporter
from lessons.lab.simulator.scheduler import Scheduler
from lessons.lab.simulator.teams import Launch, Team
from lessons.lab.simulator.whereabouts import Whereabouts
from lessons.lab.source import Source


class Context(NamedTuple):
    """The run of one team: its parts, none of which can evaluate or execute anything."""

    launch: Launch
    team: Team
    stack: CallStack
    reporter: Reporter
    recorder: Recorder
    memory: MemoryChecker
    whereabouts: Whereabouts
    barriers: Barriers


def context_of(launch: Launch, team: Team, kernel: Source, scheduler: Scheduler) -> Context:
    """The context in which a team begins a kernel."""
    stack = CallStack(kernel, team.present)
    reporter = Reporter(launch, team, stack)
    recorder = Recorder(launch, team, stack)
    memory = MemoryChecker(launch, team, reporter, recorder)
    whereabouts = Whereabouts(team, stack)
    barriers = Barriers(launch, team, reporter, whereabouts, scheduler)
    return Context(launch, team, stack, reporter, recorder, memory, whereabouts, barriers)
