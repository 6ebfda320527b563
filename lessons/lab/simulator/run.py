"""Run any kernel without a GPU, and see every bug it has.

    from lessons.lab import checked_run

    report = checked_run(kernel, grid, block, *arrays)
    print(report)

takes the same `@cuda.jit` kernel that a GPU would run, with NumPy arrays in place of device arrays.
It runs the kernel for all threads in lock step (see `interpreter`), checks every access to memory
(see `memory.checker`), and computes with the types Numba would use (see `lab.numba_types`).

Honest limits. Only what runs is checked: a branch that no thread takes on your input is not looked
at, except for what the compiler would refuse. Memory is simple: a write is seen by everybody at
once; a GPU may show writes of other blocks late and in another order, so a kernel that passes data
through global memory with flags and `threadfence` is reported as a race even when the fences are
right, and a missing fence is not reported as such. Two threads that store the same value are not
reported. A multiply and an add are rounded twice here, once on a GPU. Speed is not simulated: the
table counts traffic, not time.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from kernels.errors import InputError
from lessons.lab.compile_checks import compile_refusals
from lessons.lab.dimensions import MAX_BLOCK, MAX_GRID, MAX_THREADS, as_dim3, volume
from lessons.lab.simulator.arguments import (
    check_arguments,
    copies,
    names_of_parameters,
    restore,
    wrap_arguments,
)
from lessons.lab.simulator.interpreter import Interpreter
from lessons.lab.simulator.report import Report
from lessons.lab.simulator.scheduler import Alone, Scheduler, TakeTurns
from lessons.lab.simulator.stops import Stop, Stuck
from lessons.lab.simulator.teams import (
    Division,
    Launch,
    Options,
    Team,
    reversed_teams,
    shuffled_teams,
    team_per_block,
    team_per_thread,
    whole_grid,
)
from lessons.lab.source import read_source

BUDGET = 3_000_000
MAX_TEAMS = 512
# Float sums in another order differ by rounding; anything more is a difference worth reporting.
ORDER_TOLERANCE = 1e-3

Dimensions: TypeAlias = int | tuple[int, ...]
Order: TypeAlias = str | int
Orders: TypeAlias = list[Order] | tuple[Order, ...] | range


def checked_run(
    kernel: Callable,
    grid: Dimensions,
    block: Dimensions,
    *arguments: object,
    schedule: Order | Orders | None = None,
    other_shapes: Iterable[tuple[Dimensions, Dimensions]] = (),
    measure: bool = True,
    record: bool = False,
    budget: int = BUDGET,
    dynamic_shared: int = 0,
) -> Report:
    """Run `kernel[grid, block](*arguments)` and return a `Report`; arrays are changed in place.

    kernel: what `@cuda.jit` made of a function (or the function itself). grid, block: ints or
    tuples of up to three. arguments: NumPy arrays, numbers, and NamedTuples of them; a Python int
    or float counts as int64 or float64, as it would in a launch.

    schedule: None lets all threads run in step. "reverse" or a number (the seed of a random order
    of warps, blocks and threads) runs that order as well, and a list of these runs them all; a
    result that depends on the order becomes a finding of kind "order". The arrays keep the
    result of the first order. other_shapes: more (grid, block) pairs that should give the same
    result; if one does not, that is a finding of kind "order" too.

    measure: count the traffic for `report.table()`. record: keep the first accesses for
    `report.picture(path)`. budget: rounds of loops, of all threads together in step, before the
    kernel counts as endless. dynamic_shared: bytes of dynamic shared memory.

    Raises `InputError` if the kernel's source cannot be read, `TypeError` for arguments that cannot
    be passed to a kernel, and `ValueError` for dimensions that are no dimensions. Sizes beyond the
    hardware's limits are findings.
    """
    source = read_source(kernel)
    report = Report(source, as_dim3(grid, "grid"), as_dim3(block, "block"))
    check_arguments(source, arguments)
    check_limits(report)
    for refusal in compile_refusals(source):
        report.add("compile", refusal.line, refusal.message, refusal.filename)
    if report.findings:
        return report

    options = Options(measure, record, budget, dynamic_shared)
    before = copies(arguments)
    division = run_in_step(report, arguments, options)
    if any(not finding.advice and finding.kind != "slow" for finding in report.findings):
        return report
    quiet = options._replace(measure=False, record=False)
    for order in as_orders(schedule):
        again = copies(before)
        run_teams(report, again, quiet, partial(ordered_teams, order=order, division=division))
        compare_results(report, arguments, again, f"in another order of threads ({order})")
    for other_grid, other_block in other_shapes:
        again = copies(before)
        run_other_shape(report, again, quiet, other_grid, other_block)
        how = f"with a grid of {other_grid} blocks of {other_block} threads"
        compare_results(report, arguments, again, how)
    return report


def launch(kernel: Callable, blocks: Dimensions, threads: Dimensions, *arguments: object) -> None:
    """A launcher for the `launch_*` functions of `kernels`: checked, and strict.

    Raises `InputError` with the findings if there are any but advice.
    """
    report = checked_run(kernel, blocks, threads, *arguments, measure=False)
    if not report.ok:
        raise InputError(str(report))


# ---------------------------------------------------------------- running


def run_in_step(report: Report, arguments: Sequence[object], options: Options) -> Division:
    """Run with as few teams as possible. Returns the function that divided the threads."""
    before = copies(arguments)
    finer_divisions: list[Division] = []
    if report.grid != (1, 1, 1):
        finer_divisions.append(team_per_block)
    if volume(report.grid) * volume(report.block) <= MAX_TEAMS:
        finer_divisions.append(team_per_thread)
    division: Division = whole_grid
    for finer_division in finer_divisions:
        findings = list(report.findings)
        try:
            run_teams(report, arguments, options, division, may_divide=True)
            return division
        except Stuck:
            # Threads in step wait for each other for ever, as on a GPU before Volta. A newer one
            # lets each go its own way, so divide more finely and begin again.
            report.findings[:] = findings
            report.traffic.clear()
            report.events.clear()
            restore(arguments, before)
            division = finer_division
    run_teams(report, arguments, options, division)
    return division


def run_other_shape(
    report: Report,
    arguments: Sequence[object],
    options: Options,
    grid: Dimensions,
    block: Dimensions,
) -> None:
    """Run in step with other dimensions, and add what is found to the report."""
    other = Report(report.source, as_dim3(grid, "grid"), as_dim3(block, "block"))
    run_in_step(other, arguments, options)
    for finding in other.findings:
        report.add(finding.kind, finding.line, finding.message, "other shape", finding.advice)


def run_teams(
    report: Report,
    arguments: Sequence[object],
    options: Options,
    division: Division,
    may_divide: bool = False,
) -> None:
    """Run all teams of a launch. Raises `Stuck`, if it may be divided more finely."""
    launch = Launch(report, report.grid, report.block, options, may_divide)
    wrapped = wrap_arguments(report, arguments)
    teams = division(launch)
    scheduler: Scheduler = Alone(launch, teams[0]) if len(teams) == 1 else TakeTurns(launch, teams)

    def run_team(team: Team) -> None:
        Interpreter(launch, team, report.source, scheduler).run(wrapped)

    try:
        scheduler.run(run_team)
    except Stop:
        return
    if launch.signed_index is not None:
        line, text = launch.signed_index
        report.add(
            "slow",
            line,
            f"the index in `{text}` is signed: Numba adds instructions so that negative ones "
            "count from the end; in a kernel that only moves memory, uint32(...) is faster",
            "signed",
            advice=True,
        )


# ---------------------------------------------------------------- other orders


def as_orders(schedule: Order | Orders | None) -> list[Order]:
    if schedule is None:
        return []
    return list(schedule) if isinstance(schedule, (list, tuple, range)) else [schedule]


def ordered_teams(launch: Launch, order: Order, division: Division) -> list[Team]:
    if order == "reverse":
        return reversed_teams(launch) if division is whole_grid else division(launch)[::-1]
    if isinstance(order, (int, np.integer)) and order >= 0:
        if division is not team_per_thread:
            return shuffled_teams(launch, order)
        teams = division(launch)
        random = np.random.Generator(np.random.Philox(order))
        return [teams[i] for i in random.permutation(len(teams))]
    raise ValueError(
        f'a schedule is None, "reverse", a seed >= 0, or a list of these, not {order!r}'
    )


def compare_results(
    report: Report, arguments: Sequence[object], again: Sequence[object], how: str
) -> None:
    """Add a finding for each array whose values depend on `how` the kernel ran."""
    names = names_of_parameters(report.source)
    for name, first, second in zip(names, arguments, again, strict=True):
        if not (isinstance(first, np.ndarray) and isinstance(second, np.ndarray)):
            continue
        different = np.flatnonzero(differing(first, second))
        if len(different):
            place = np.unravel_index(int(different[0]), first.shape)
            index = ", ".join(str(int(i)) for i in place)
            report.add(
                "order",
                report.source.tree.lineno,
                f"{name}[{index}] is {first[place]}, but {second[place]} "
                f"{how}: the result must not depend on which thread comes first",
                name,
            )


def differing(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(n,) bool: which elements are not the same, floats but for the rounding of a sum."""
    if first.dtype.kind != "f":
        return (first != second).reshape(-1)
    scale = np.nanmax(np.abs(first), initial=0.0) if first.size else 0.0
    close = np.isclose(
        first, second, rtol=ORDER_TOLERANCE, atol=ORDER_TOLERANCE * scale, equal_nan=True
    )
    return ~close.reshape(-1)


# ---------------------------------------------------------------- limits of the hardware


def check_limits(report: Report) -> None:
    line = report.source.tree.lineno
    threads = volume(report.block)
    if threads > MAX_THREADS:
        report.add(
            "limits",
            line,
            f"a block of {threads:,} threads: the hardware allows "
            f"{MAX_THREADS:,}; use smaller blocks and more of them",
        )
    for axis, (size, limit) in enumerate(zip(report.block, MAX_BLOCK, strict=True)):
        if size > limit and threads <= MAX_THREADS:
            report.add(
                "limits", line, f"a block of size {size} along {'xyz'[axis]}: the limit is {limit}"
            )
    for axis, (size, limit) in enumerate(zip(report.grid, MAX_GRID, strict=True)):
        if size > limit:
            report.add(
                "limits",
                line,
                f"a grid of size {size:,} along {'xyz'[axis]}: the limit is {limit:,}",
            )
