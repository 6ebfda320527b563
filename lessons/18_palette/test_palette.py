"""Checks of lesson 18: k-means, against float64.

Most inputs leave threads of the last block without a point.
"""

import numpy as np

from lessons.grading.judge.case import check
from lessons.reference import palette as reference

BLOCK_THREADS = 256
NOBODY = 2**63 - 1
# Points, channels, centres.
FOR_NEAREST = (300, 3, 32), (70, 5, 1), (1, 3, 7), (33, 64, 24), (257, 1, 9)
FOR_SUMS = (300, 3, 8), (33, 20, 30), (1, 3, 4), (257, 1, 6)
COUNTED, COUNTED_BLOCKS = (768, 3, 32), 3
LARGE, SMALL = (70_001, 3, 16), (1_100, 3, 16)
ALREADY = 0.5  # in each sum before
FOR_DRAW = (300, 3), (20, 8), (513, 2)
DRAWN = 4  # centres, one after another
MARGIN = 1.001  # by which the lowest ticket is below the next: so rounding decides nothing

ALLOWED_READS = 2  # of each number of a centre, from global memory, per block
ALLOWED_ADDITIONS = 4  # to each sum, per block: four groups of threads with a part of the points
ALLOWED_SHARED_ATOMICS = 8  # per sum: one per warp is no queue


@check("nearest")
def test_nearest(case):
    for sizes in FOR_NEAREST:
        assign(case, *points_and_centres(case, *sizes))
    # Two centres at one place: the lower number is taken.
    points, centres = points_and_centres(case, 40, 3, 6)
    centres[4] = centres[1]
    points[:20] = centres[1] + case.random((20, 3), -0.01, 0.01)
    assign(case, points, centres)
    got = [case.call("squared_distance", points, 30, centres.ravel(), 3 * c) for c in range(6)]
    case.expect(got, reference.squared_distances(points, centres)[30], "squared_distance")


@check("fetched_once")
def test_fetched_once(case):
    points, centres = points_and_centres(case, 2 * BLOCK_THREADS, 3, 32)
    counts = assign(case, points, centres)
    case.budget(
        "reads of each number of the centres from global memory, per block",
        yours=counts.of(centres).reads / centres.size / 2,
        ours=1,
        allowed=ALLOWED_READS,
        diagnosis="fetched by every thread",
        sentence="every thread fetches all centres from global memory by itself. The block needs "
        "them once: fetch them into shared memory together, wait, and compare with those.",
        line=counts.busiest_line("reads", centres),
    )


@check("sums")
def test_sums(case):
    for sizes in FOR_SUMS:
        accumulate(case, *sizes)


@check("few_additions")
def test_few_additions(case):
    counts, _, sums = accumulate(case, *COUNTED, lowest=-1)
    case.budget(
        "additions to each sum per block",
        yours=counts.of(sums).atomics / sums.array.size / COUNTED_BLOCKS,
        ours=1,
        allowed=ALLOWED_ADDITIONS,
        diagnosis="added point by point",
        sentence="the points of a block add to global memory one by one. Add up over the block "
        "first, a thread for each sum; then one addition per sum and block is enough.",
        line=counts.busiest_line("atomics", sums),
    )
    queued = counts.shared().atomics / sums.array.size / COUNTED_BLOCKS
    case.budget(
        "atomic additions in shared memory to each sum per block",
        yours=queued,
        ours=0,
        allowed=ALLOWED_SHARED_ATOMICS,
        diagnosis="queue in shared memory",
        sentence="the threads of a block stand in a queue, for an atomic addition of floats in "
        "shared memory is a loop. Let a thread own a sum: it goes through the labels, and waits "
        "for nobody.",
    )


@check("moved")
def test_moved(case):
    for count, channels in ((32, 3), (5, 64), (1, 1), (300, 1)):
        sums = case.random((count, channels), -3, 3)
        counts = case.rng.integers(1, 9, count).astype(np.int32)
        counts[: count // 3] = 0
        centres = case.random((count, channels))
        moved = case.output(centres.shape, initial=centres)
        case.run("launch_move", sums, counts, moved)
        case.expect(moved, reference.moved(sums, counts, centres), "centres")


@check("drawn")
def test_drawn(case):
    for sizes in FOR_DRAW:
        points = case.random(sizes)
        draw_some(case, points)
    # Points where a centre lies already have no chance.
    points[: len(points) // 2] = points[0]
    draw_some(case, points)


@check("float32")
def test_float32(case):
    points, centres = points_and_centres(case, 40, 3, 5)
    assign(case, points, centres)
    _, counts, sums = accumulate(case, 40, 3, 5)
    moved = case.output(centres.shape, initial=centres)
    case.run("launch_move", np.float32(sums.array), np.int32(counts.array), moved)
    draw_some(case, points)


@check("palette")
def test_palette(case):
    number, channels, count = case.size(large=LARGE, small=SMALL)
    points = case.photo((number, 1, channels)).reshape(number, channels)
    centres = points[:: number // count][:count].copy()
    for _ in range(3):
        labels, distances = case.output((number,), np.int32), case.output((number,))
        case.run("launch_assign", points, centres, labels, distances, engine="large")
        sums, counts = zeros(case, (count, channels)), zeros(case, (count,), np.int32)
        case.run("launch_accumulate", points, labels.array, sums, counts, engine="large")
        moved = case.output(centres.shape, initial=centres)
        case.run("launch_move", sums.array, counts.array, moved, engine="large")
        expected = reference.rounds(points, centres, 1)
        case.expect(moved, expected, "centres")
        centres = moved.array.copy()


# ---------------------------------------------------------------- helpers


def points_and_centres(case, number, channels, count):
    return case.random((number, channels)), case.random((count, channels))


def zeros(case, shape, dtype=np.float32):
    return case.output(shape, dtype, initial=np.zeros(shape, dtype))


def assign(case, points, centres):
    """Counts of a run whose labels and distances are right."""
    labels, distances = case.output((len(points),), np.int32), case.output((len(points),))
    counts = case.measure("launch_assign", points, centres, labels, distances)
    nearest, least = reference.nearest(points, centres)
    # Of two that are nearly equally near, rounding decides.
    taken = np.clip(labels.array, 0, len(centres) - 1)
    apart = reference.squared_distances(points, centres)[np.arange(len(points)), taken] - least
    same_place = (centres[taken] == centres[nearest]).all(axis=1)
    fair = (apart < 1e-6) & ~same_place
    case.expect(labels, np.where(fair, taken, nearest), "labels", tolerance=0)
    case.expect(distances, least, "distances")
    return counts


def accumulate(case, number, channels, count, lowest=0):
    """(counts of the run, counts, sums): both are added to, and one centre has no points."""
    points = case.random((number, channels), lowest, 1)
    labels = case.rng.integers(0, count, number).astype(np.int32)
    labels[labels == count // 2] = 0
    sums = case.output((count, channels), initial=np.full((count, channels), ALREADY))
    counts = case.output((count,), np.int32, initial=np.full(count, 3, np.int32))
    measured = case.measure("launch_accumulate", points, labels, sums, counts)
    right, numbers = reference.sums_of(points, labels, count)
    case.expect(counts, numbers + 3, "counts", tolerance=0)
    case.expect(sums, right + ALREADY, "sums")
    return measured, counts, sums


def draw_some(case, points):
    """Draw centres one after another, each by the student's kernel; ours put them in place."""
    centres = case.random((DRAWN, points.shape[1]))
    distances = np.ones(len(points), np.float32)
    for number in range(DRAWN):
        nearest = np.minimum(distances, last_distances(points, centres, number))
        seed, tickets = seed_with_a_margin(case, nearest, number)
        outputs = case.output(distances.shape, initial=distances)
        winners = case.output((DRAWN,), np.int64, initial=np.full(DRAWN, NOBODY, np.int64))
        case.run("launch_draw", points, centres, number, np.uint64(seed), outputs, winners)
        case.expect(outputs, nearest, "distances")
        right, pair = int(tickets.argmin()), winners.array[number]
        got = case.call("ticket", np.float32(nearest[right]), right, number, np.uint64(seed))
        case.expect(got, tickets[right], "ticket")
        lowest = np.int32(pair >> 32).view(np.float32)
        case.expect(lowest, tickets[right], f"the lowest ticket for centre {number}")
        case.require(
            int(pair) & 0xFFFFFFFF == right,
            diagnosis="another point is drawn",
            sentence=f"the pair names point {int(pair) & 0xFFFFFFFF}; the lowest ticket is that of "
            f"point {right}.",
        )
        centres[number] = points[right]
        distances = np.float32(nearest)


def last_distances(points, centres, number):
    if number == 0:
        return np.inf
    return reference.squared_distances(points, centres[number - 1 : number])[:, 0]


def seed_with_a_margin(case, distances, number):
    """A seed for which rounding does not decide who wins, and the tickets, in float64."""
    while True:
        seed = int(case.rng.integers(2**40))
        tickets = reference.tickets(np.asarray(distances, float), number, seed)
        first, second = (*np.sort(tickets)[:2], np.inf)[:2]
        if second > MARGIN * first:
            return seed, tickets
