"""What a team runs with: the parts that expressions, statements and functions of cuda share."""

from typing import NamedTuple

from ..source import Source
from .barriers import Barriers
from .frames import CallStack
from .memory.checker import MemoryChecker
from .memory.recorder import Recorder
from .reporter import Reporter
from .scheduler import Scheduler
from .teams import Launch, Team
from .whereabouts import Whereabouts


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
    barriers = Barriers(launch, team, reporter, recorder, whereabouts, scheduler)
    return Context(launch, team, stack, reporter, recorder, memory, whereabouts, barriers)
