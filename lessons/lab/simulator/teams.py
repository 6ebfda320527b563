"""The parts of a launch that all teams share, and a team: threads that run in lock step."""

import numpy as np

from lessons.lab.simulator.memory import Clock

WARP = 32
MAX_SHARED_BYTES = 48 * 1024


class Stop(Exception):
    """The kernel cannot go on; a finding says why."""


class Stuck(Exception):
    """Some threads wait in a loop for others that lock step keeps waiting."""


class Unsupported(Exception):
    """Something that does not compile for a GPU. `node` is where in the syntax tree."""

    def __init__(self, node, message):
        super().__init__(message)
        self.node = node
        self.message = message


class Launch:
    """One run of a kernel: its dimensions, its shared memory, its clock and its report.

    A thread is a *lane*. Lanes are numbered block by block; a block's last warp is filled up to 32
    with lanes that do nothing, as on a GPU, so that a warp is always 32 lanes in a row.
    """

    def __init__(self, report, grid, block, measure, record, budget, dynamic_shared):
        self.report = report
        self.grid = grid
        self.block = block
        self.measure = measure
        self.record = record
        self.budget = budget
        self.dynamic_shared = dynamic_shared
        self.blocks = grid[0] * grid[1] * grid[2]
        self.threads = block[0] * block[1] * block[2]
        self.lanes_a_block = -(-self.threads // WARP) * WARP
        self.clock = Clock(self.blocks, self.lanes_a_block)
        self.shared = {}  # node of the cuda.shared.array call -> Memory
        self.shared_bytes = 0
        self.votes = {}  # (node, round) -> count in each block, for syncthreads_count and the like
        self.place_of_tick = {}  # tick -> (source, line) of the access
        self.phase = 0  # barriers so far
        self.instruction = 0  # memory instructions so far
        self.signed_index = None  # (line, text) of the first access by a signed index
        self.may_divide = False  # whether a run that is stuck will be tried with smaller teams
        self.scheduler = None

    def spend(self, line):
        """Count one round of a loop. Raises `Stop` when the budget is used up."""
        self.budget -= 1
        if self.budget < 0:
            self.report.add(
                "endless",
                line,
                "the kernel was stopped here: its loops have gone round more often "
                "than the budget of the checked simulator allows; does this loop ever end?",
            )
            raise Stop

    def block_index(self, number):
        columns, rows, _ = self.grid
        return number % columns, number // columns % rows, number // (columns * rows)

    def thread_index(self, number):
        columns, rows, _ = self.block
        return number % columns, number // columns % rows, number // (columns * rows)

    def name_lane(self, lane):
        """ "thread 3 of block 1", or with tuples where the launch has more dimensions."""
        block, thread = divmod(int(lane), self.lanes_a_block)
        thread = short(self.thread_index(thread), self.block)
        return f"thread {thread} of block {short(self.block_index(block), self.grid)}"


def short(index, sizes):
    """An index with as many dimensions as the sizes have."""
    dimensions = max([1] + [axis + 1 for axis in range(3) if sizes[axis] > 1])
    return str(index[0]) if dimensions == 1 else str(tuple(int(i) for i in index[:dimensions]))


class Team:
    """Lanes that run together, one instruction at a time for all of them.

    lanes: lane numbers, a multiple of 32, each 32 in a row of one warp, in the order in which
    their accesses take effect. present: which of them are threads of this team.
    """

    def __init__(self, launch, lanes, present):
        self.lanes = lanes
        self.present = present
        self.block_number = (lanes // launch.lanes_a_block).astype(np.int32)
        self.thread_number = (lanes % launch.lanes_a_block).astype(np.int32)
        self.lane_in_warp = (lanes % WARP).astype(np.int32)
        self.row = np.arange(len(lanes)) // WARP
        self.block_index = [i.astype(np.int32) for i in launch.block_index(self.block_number)]
        self.thread_index = [i.astype(np.int32) for i in launch.thread_index(self.thread_number)]


def whole_grid(launch):
    """One team of all lanes, in their natural order."""
    lanes = np.arange(launch.blocks * launch.lanes_a_block, dtype=np.int64)
    return [Team(launch, lanes, lanes % launch.lanes_a_block < launch.threads)]


def team_a_block(launch):
    return [
        team_of(launch, block, range(launch.lanes_a_block // WARP))
        for block in range(launch.blocks)
    ]


def team_of(launch, block, warps, random=None):
    """A team of some warps of a block, lanes shuffled within each warp if `random` is given."""
    rows = []
    for warp in warps:
        row = block * launch.lanes_a_block + warp * WARP + np.arange(WARP, dtype=np.int64)
        rows.append(row if random is None else random.permutation(row))
    lanes = np.concatenate(rows)
    return Team(launch, lanes, lanes % launch.lanes_a_block < launch.threads)


def team_a_thread(launch):
    """The finest division: each thread goes its own way, as on GPUs since Volta."""
    teams = []
    for block in range(launch.blocks):
        for thread in range(launch.threads):
            first = block * launch.lanes_a_block + thread // WARP * WARP
            lanes = first + np.arange(WARP, dtype=np.int64)
            teams.append(Team(launch, lanes, lanes - first == thread % WARP))
    return teams


def shuffled_teams(launch, seed):
    """Each block's warps in random order, divided into at most two teams; lanes shuffled."""
    random = np.random.Generator(np.random.Philox(seed))
    teams = []
    for block in random.permutation(launch.blocks):
        warps = random.permutation(launch.lanes_a_block // WARP)
        cut = int(random.integers(0, len(warps)))
        for part in (warps[:cut], warps[cut:]):
            if len(part):
                teams.append(team_of(launch, int(block), part, random))
    return [teams[i] for i in random.permutation(len(teams))]


def reversed_teams(launch):
    """The last block first, its last warp first, its last lane first."""
    lanes = np.arange(launch.blocks * launch.lanes_a_block, dtype=np.int64)[::-1].copy()
    return [Team(launch, lanes, lanes % launch.lanes_a_block < launch.threads)]
