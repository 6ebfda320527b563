"""Memory that remembers: who touched which element, and whether anything came in between.

Every access in a run gets a *tick*, a running number. A barrier gets one too, and with it all
threads that met there know: what the others did before this tick has happened. So two accesses to
one element are in order if a barrier that both threads took part in lies between them, and they
are a data race if none does, they come from two threads, and at least one of them writes.

For each element it is enough to keep the last write and the last two readers (three for global
memory): whoever writes next conflicts with one of those, or with nobody. Oclgrind and
compute-sanitizer's racecheck work on the same principle.
"""

import numpy as np

NEVER = 0
MAX_UNSORTED = 20_000_000


class Clock:
    """Ticks, and for each thread ("lane") when it last met the others.

    Blocks meet at a barrier of the grid, or through a number in memory that each of them raises
    (`release`) and looks at (`acquire`).
    """

    def __init__(self, blocks, lanes_a_block):
        lanes = blocks * lanes_a_block
        self.lanes_a_block = lanes_a_block
        self.tick = NEVER
        self.block_of = np.repeat(np.arange(blocks, dtype=np.int32), lanes_a_block)
        self.warp_of = np.arange(lanes, dtype=np.int32) // 32
        self.warp_tick = np.zeros(lanes, np.int64)
        self.block_tick = np.zeros(lanes, np.int64)
        self.grid_tick = np.zeros(lanes, np.int64)
        self.earliest_block_tick = NEVER
        self.earliest_grid_tick = NEVER
        self.released = {}  # id of a memory -> for each block, up to when others may know of it

    def next(self):
        self.tick += 1
        return self.tick

    def meet_in_warp(self, lanes):
        self.warp_tick[lanes] = self.next()

    def meet_in_block(self, lanes):
        tick = self.next()
        self.block_tick[lanes] = tick
        self.warp_tick[lanes] = tick
        self.earliest_block_tick = int(self.block_tick.min())
        if self.released:
            self.share_in_block(np.asarray(lanes))

    def meet_in_grid(self):
        tick = self.next()
        self.earliest_grid_tick = self.earliest_block_tick = tick
        self.grid_tick[:] = tick
        self.block_tick[:] = tick
        self.warp_tick[:] = tick

    def release(self, memory, lanes):
        """Let others know, through `memory`, what these lanes' blocks did before their last barrier."""
        blocks = len(self.block_of) // self.lanes_a_block
        known = self.released.setdefault(id(memory), np.zeros(blocks, np.int64))
        known[self.block_of[lanes]] = self.block_tick[lanes]

    def acquire(self, memory, lanes):
        """These lanes have looked: they know what every block has released."""
        known = self.released.get(id(memory))
        if known is not None:
            self.grid_tick[lanes] = np.maximum(self.grid_tick[lanes], known.min())

    def share_in_block(self, lanes):
        """At a barrier of their block all lanes learn what one of them knows about other blocks."""
        latest = self.grid_tick[lanes].reshape(-1, self.lanes_a_block).max(axis=1)
        self.grid_tick[lanes] = np.repeat(latest, self.lanes_a_block)
        self.earliest_grid_tick = int(self.grid_tick.min())

    def unordered(self, tick, lane, now):
        """Whether accesses (tick, lane) may happen at the same time as one by the lanes `now`."""
        same_block = self.block_of[lane] == self.block_of[now]
        same_warp = self.warp_of[lane] == self.warp_of[now]
        met = np.where(same_block, self.block_tick[now], self.grid_tick[now])
        met_in_warp = np.minimum(self.warp_tick[lane], self.warp_tick[now])
        met = np.where(same_warp, met_in_warp, met)
        return (lane != now) & (tick > met)


class RecentLanes:
    """The last lanes that touched each element: two different ones, and one of another block."""

    def __init__(self, size, across_blocks):
        slots = 3 if across_blocks else 2
        self.tick = np.zeros((slots, size), np.int64)
        self.lane = np.zeros((slots, size), np.int32)

    def note(self, clock, element, lane, tick):
        former_tick, former_lane = self.tick[0, element], self.lane[0, element]
        self.displace(clock, element, former_lane, former_tick, lane)
        self.tick[0, element] = tick
        self.lane[0, element] = lane
        # Several lanes may touch one element in one instruction; the last of them is kept above.
        kept = self.lane[0, element]
        self.displace(clock, element, lane, np.full(lane.shape, tick), kept)

    def displace(self, clock, element, lane, tick, newer):
        """Keep (lane, tick) in the other slots where `newer` is another lane, or block."""
        other = (lane != newer) & (tick != NEVER)
        if not other.any():
            return
        self.tick[1, element[other]] = tick[other]
        self.lane[1, element[other]] = lane[other]
        if len(self.tick) < 3:
            return
        other &= clock.block_of[lane] != clock.block_of[newer]
        self.tick[2, element[other]] = tick[other]
        self.lane[2, element[other]] = lane[other]

    def conflicts(self, clock, element, now):
        """Yield (mask, lane, tick) of former accesses that `now` is not ordered with."""
        for tick, lane in zip(self.tick, self.lane, strict=True):
            former_tick, former_lane = tick[element], lane[element]
            if former_tick.max(initial=0) <= clock.earliest_grid_tick:
                continue
            mask = clock.unordered(former_tick, former_lane, now)
            if mask.any():
                yield mask, former_lane, former_tick


class Memory:
    """The elements behind one array, and their history.

    space: "global", "shared", "local" or "constant". data: 1-D array that holds the elements of
    all instances (one a block for shared memory, one a thread for local). instance: elements of
    one instance. address: of element 0, in bytes, for counting sectors and banks.
    """

    def __init__(self, name, space, data, instance, shape, address=0, line=0):
        self.name = name
        self.space = space
        self.data = data
        self.instance = max(1, instance)
        self.shape = shape
        self.address = address
        self.line = line
        self.history = None
        self.first_in_history = 0  # not 0 where arrays overlap and share a history
        self.initialised = None
        if space in ("shared", "local"):
            self.initialised = np.zeros(data.size, bool)
        if space in ("shared", "global"):
            self.history = History(data.size, space == "global")


class History:
    """When and by whom each element was written, read and changed atomically."""

    def __init__(self, size, across_blocks):
        self.write_tick = np.zeros(size, np.int64)
        self.write_lane = np.zeros(size, np.int32)
        self.size = size
        self.across_blocks = across_blocks
        self.unsorted_reads = []  # (element, lane, tick), not yet in `readers`
        self.unsorted = 0  # elements in them
        self.readers = None
        self.changers = None

    def settled_before(self, clock):
        """No access before this tick can race with one that happens now."""
        return clock.earliest_grid_tick if self.across_blocks else clock.earliest_block_tick

    def racing_writes(self, clock, element, lane):
        """Yield (mask, lane, tick) of plain writes that are not ordered with an access now."""
        tick = self.write_tick[element]
        if tick.max(initial=0) <= self.settled_before(clock):
            return
        writer = self.write_lane[element]
        mask = clock.unordered(tick, writer, lane)
        if mask.any():
            yield mask, writer, tick

    def racing_changes(self, clock, element, lane):
        if self.changers is not None:
            yield from self.changers.conflicts(clock, element, lane)

    def racing_reads(self, clock, element, lane):
        self.sort_reads(clock)
        if self.readers is not None:
            yield from self.readers.conflicts(clock, element, lane)

    def note_read(self, clock, element, lane, tick):
        # Most arrays are only read, or read between two barriers: sorting the readers can wait
        # until someone writes, and is often not needed at all.
        self.unsorted_reads.append((element, lane, tick))
        self.unsorted += len(element)
        if self.unsorted > MAX_UNSORTED:
            self.sort_reads(clock)

    def sort_reads(self, clock):
        settled = self.settled_before(clock)
        pending = [read for read in self.unsorted_reads if read[2] > settled]
        self.unsorted_reads, self.unsorted = [], 0
        if not pending:
            return
        if self.readers is None:
            self.readers = RecentLanes(self.size, self.across_blocks)
        for element, lane, tick in pending:
            self.readers.note(clock, element, lane, tick)

    def forget_settled_reads(self, clock):
        """After a barrier: drop reads that nothing can race with any more."""
        if self.unsorted_reads and self.unsorted_reads[-1][2] <= self.settled_before(clock):
            self.unsorted_reads, self.unsorted = [], 0

    def note_write(self, element, lane, tick):
        self.write_tick[element] = tick
        self.write_lane[element] = lane

    def note_change(self, clock, element, lane, tick):
        if self.changers is None:
            self.changers = RecentLanes(self.size, self.across_blocks)
        self.changers.note(clock, element, lane, tick)


class View:
    """An array as a kernel sees it: a memory, where in it the array begins, shape and strides.

    offset: element number, an int or one for each lane. strides: in elements.
    """

    def __init__(self, memory, offset, shape, strides):
        self.memory = memory
        self.offset = offset
        self.shape = shape
        self.strides = strides

    @property
    def dtype(self):
        return self.memory.data.dtype

    @property
    def size(self):
        size = 1
        for length in self.shape:
            size *= int(length)
        return size


def row_major_strides(shape):
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))


def wrap_global_arrays(named_arrays):
    """Views of the arrays a kernel is called with, name -> `View`.

    Arrays that overlap in memory share one history, so a race between two names for the same
    element is found as well.
    """
    views = {}
    group, group_end = [], None
    ordered = sorted(named_arrays.items(), key=lambda item: item[1].__array_interface__["data"][0])
    for name, array in ordered:
        begin = array.__array_interface__["data"][0]
        if group and begin >= group_end:
            views.update(wrap_overlapping(group))
            group, group_end = [], None
        group.append((name, array))
        group_end = max(group_end or 0, begin + span(array) * array.itemsize)
    if group:
        views.update(wrap_overlapping(group))
    return views


def span(array):
    """Number of elements from the first to the last that an array reaches."""
    if array.size == 0:
        return 0
    steps = [(n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True)]
    return sum(steps) // array.itemsize + 1


def address_on_gpu(array):
    """Where an array would begin on a GPU, in bytes: at 0, unless it is a view.

    A GPU's allocations are aligned to 256 bytes, NumPy's to 16 or so; counting sectors from where
    NumPy happened to put an array would give other figures in every run.
    """
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    begin = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    return max(0, begin)


def wrap_overlapping(group):
    views = {}
    base = group[0][1].__array_interface__["data"][0]
    end = max(
        array.__array_interface__["data"][0] + span(array) * array.itemsize for _, array in group
    )
    shared_history = None
    for name, array in group:
        begin = array.__array_interface__["data"][0]
        # A flat window onto the array's own memory, so that stores arrive in it.
        flat = np.lib.stride_tricks.as_strided(array, (span(array),), (array.itemsize,))
        memory = Memory(name, "global", flat, flat.size, array.shape, address_on_gpu(array))
        if len(group) > 1:
            if shared_history is None:
                shared_history = History((end - base) // min(a.itemsize for _, a in group), True)
            memory.history = shared_history
            memory.first_in_history = (begin - base) // array.itemsize
        strides = tuple(stride // array.itemsize for stride in array.strides)
        views[name] = View(memory, 0, array.shape, strides)
    return views
