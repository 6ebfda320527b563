"""What a team runs with: the parts that expressions, statements and functions of cuda share."""

from ..source import Source
from .barriers import Barriers
from .frames import CallStack
from .memory.checker import MemoryChecker
from .memory.recorder import Recorder
from .reporter import Reporter
from .scheduler import Scheduler
from .teams import Launch, Team
from .whereabouts import Whereabouts


class Context:
    """The run of one team: its parts, none of which can evaluate or execute anything."""

    def __init__(self, launch: Launch, team: Team, kernel: Source, scheduler: Scheduler) -> None:
        self.launch = launch
        self.team = team
        self.scheduler = scheduler
        self.stack = CallStack(kernel, team.present)
        self.reporter = Reporter(launch, team, self.stack)
        self.recorder = Recorder(launch, team, self.stack)
        self.memory = MemoryChecker(launch, team, self.reporter, self.recorder)
        self.whereabouts = Whereabouts(team, self.stack)
        self.barriers = Barriers(self)
