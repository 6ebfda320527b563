"""Run any kernel without a GPU, and see every bug it has.

    from lessons.lab import checked_run

    report = checked_run(kernel, grid, block, *arrays)
    print(report)

takes the same `@cuda.jit` kernel that a GPU would run, with NumPy arrays in place of device arrays.
It runs the kernel for all threads in lock step (see `interpreter`), checks every access to memory
(see `memory.checker`), and computes with the types Numba would use (see `lab.numba_types`).

Honest limits. Only what runs is checked: a branch that no thread takes on your input is not looked
at, except for what the compiler would refuse. A write is seen by everybody at once, while a GPU may
show it late to other blocks; what is not put in order by a barrier, or by a fence and an atomic
(see `memory.fences`), is reported as a race. A fence before the atomic that tells of data is asked
for; one behind the atomic that hears of them is not. Two threads that store the same value are not
reported. A multiply and an add are rounded twice here, once on a GPU. Speed is not simulated: the
table counts traffic, not time.
"""

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from ..compile_verdict import Verdict, compile_verdict
from ..dimensions import Dim3, as_dim3, volume
from ..frozen_globals import Values, changes_since_compiled
from ..numba_compiler import fingerprint
from ..numba_types import Number
from ..signatures import converted
from ..source import read_source
from .arguments import (
    check_arguments,
    copies,
    restore,
    wrap_arguments,
)
from .events import Recording
from .findings import wanted_kinds
from .interpreter import Interpreter
from .limits import check_limits
from .memory.written import written_now
from .orders import Order, Orders, as_orders, compare_results, ordered_teams
from .outputs import expected_outputs, garbage_arrays, report_unwritten
from .report import Report
from .scheduler import MAX_TEAMS, Alone, Scheduler, TakeTurns
from .stops import Stop, Stuck
from .teams import (
    WARP,
    Division,
    Launch,
    Options,
    Team,
    team_per_block,
    team_per_thread,
    team_per_warp,
    whole_grid,
)
from .watch import Computed

BUDGET = 3_000_000

Dimensions: TypeAlias = int | tuple[int, ...]


def checked_run(
    kernel: Callable,
    grid: Dimensions,
    block: Dimensions,
    *arguments: object,
    schedule: Order | Orders | None = None,
    other_shapes: Iterable[tuple[Dimensions, Dimensions]] = (),
    same_bits: bool = False,
    measure: bool = True,
    record: bool = False,
    budget: int = BUDGET,
    dynamic_shared: int = 0,
    kinds: Iterable[str] | None = None,
    without: Iterable[str] = (),
    expect_written: str | Iterable[str] = (),
    uninitialised: str | Iterable[str] | Mapping[str, np.ndarray] = (),
    only_blocks: range | None = None,
    ask_numba: bool = True,
    watch: Callable[[Computed], Number] | None = None,
) -> Report:
    """Run `kernel[grid, block](*arguments)` and return a `Report`; arrays are changed in place.

    kernel: what `@cuda.jit` made of a function (or the function itself). grid, block: ints or
    tuples of up to three. arguments: NumPy arrays, numbers, and NamedTuples of them; a Python int
    or float counts as int64 or float64, as it would in a launch.

    schedule: None lets all threads run in step. "reverse" or a number (the seed of a random order
    of warps, blocks and threads) runs that order as well, and a list of these runs them all; a
    result that depends on the order becomes a finding of kind "order". The arrays keep the
    result of the first order. other_shapes: more (grid, block) pairs that should give the same
    result; if one does not, that is a finding of kind "order" too. same_bits: whether sums of
    floats that differ by rounding in another order are such a finding as well.

    measure: count the traffic for `report.table()`. record: keep the first accesses for
    `report.picture(path)` and `report.html(path)`. budget: rounds of loops, of all threads together
    in step, before the kernel counts as endless. dynamic_shared: bytes of dynamic shared memory.

    kinds: the kinds of findings to keep, None for all; without: kinds to leave out, such as "slow".
    A kind that is left out is only counted.

    expect_written: names of array arguments ("out", "parameters.grid") of which the kernel should
    write every element; those that it does not are a finding. uninitialised: names of arrays that
    hold garbage, as those of `cuda.device_array` do; reading an element before it is written is a
    finding. A dict gives, for each such array, a bool array of its shape that says which elements
    have been written already; it is brought up to date.

    only_blocks: numbers of the blocks to run, of a launch that is too large to run whole; x runs
    fastest. With inputs made by `np.broadcast_to`, which take no memory, this shows what happens at
    index 2^31. Results are those of a part of a launch, so there is nothing to record or compare.

    ask_numba: let Numba's own compiler say, where it is installed, whether the kernel compiles; it
    is asked once for each kernel and types of arguments, which takes some tens of milliseconds.
    Without it, the lab's rules decide.

    watch: is called with each number that the kernel computes; the kernel goes on with the number
    that it returns. Loops are then never compiled.

    Raises `InputError` if the kernel's source cannot be read, `TypeError` for arguments that cannot
    be passed to a kernel, and `ValueError` for dimensions that are no dimensions, for names of
    arguments that are no arrays, and for blocks that the grid has not. Sizes beyond the hardware's
    limits are findings.
    """
    source = read_source(kernel)
    arguments, types = converted(kernel, arguments)
    wanted = wanted_kinds(kinds, without)
    report = Report(source, as_dim3(grid, "grid"), as_dim3(block, "block"), wanted)
    report.recording = Recording() if record else None
    check_arguments(source, arguments)
    expected = expected_outputs(source, arguments, expect_written)
    garbage = garbage_arrays(source, arguments, uninitialised)
    blocks = blocks_to_run(report.grid, only_blocks)
    if only_blocks is not None and (record or expected or other_shapes):
        raise ValueError("record, expect_written and other_shapes need all blocks, not only_blocks")
    check_limits(report, arguments, dynamic_shared, len(blocks))
    report_refusals(report, compile_verdict(kernel, source, arguments, types, ask_numba))
    if report.findings or report.left_out:
        return report

    options = Options(
        measure=measure,
        record=record,
        budget=budget,
        dynamic_shared=dynamic_shared,
        expect_written=expected,
        written_before=garbage,
        compiles=report.compiler_not_asked is None,
        debug=bool(getattr(kernel, "targetoptions", {}).get("debug")),
        frozen=frozen_values(report, arguments),
        blocks=blocks,
        watch=watch,
    )
    run_and_compare(report, arguments, options, as_orders(schedule), other_shapes, same_bits)
    return report


def blocks_to_run(grid: Dim3, only: range | None) -> range:
    """The numbers of the blocks. Raises `ValueError`."""
    every = range(volume(grid))
    if only is None:
        return every
    if len(only) == 0 or only.step != 1 or only.start < 0 or only.stop > len(every):
        raise ValueError(f"only_blocks={only} is no range of the blocks {every}, one by one")
    return only


def launch(
    kernel: Callable,
    blocks: Dimensions,
    threads: Dimensions,
    *arguments: object,
    ask_numba: bool = True,
) -> None:
    """A launcher for functions that take one: checked, and strict.

    Raises `ProblemsFound` with the findings if there are any but advice.
    """
    report = checked_run(kernel, blocks, threads, *arguments, measure=False, ask_numba=ask_numba)
    report.raise_if_problems()


def report_refusals(report: Report, verdict: Verdict) -> None:
    report.compiler_not_asked = verdict.not_asked
    for refusal in verdict.refusals:
        report.add(
            "compile", refusal.line, refusal.message, refusal.filename, file=refusal.filename
        )


def frozen_values(report: Report, arguments: Sequence[object]) -> Values:
    """The values from outside that have changed since the kernel was compiled, as they were then.

    Adds a finding for each.
    """
    changes = changes_since_compiled(report.source, tuple(map(fingerprint, arguments)))
    for change in changes:
        text, filename = ast.unparse(change.node), change.source.filename
        report.add(
            "frozen",
            change.node.lineno,
            f"`{text}` was {change.then} when this kernel was compiled, at its first launch with "
            f"such arguments, and is {change.now} now: a kernel goes on with the old value; pass "
            "it as an argument",
            text,
            file=filename,
        )
    return {change.key: change.then for change in changes}


# ---------------------------------------------------------------- running


def run_and_compare(
    report: Report,
    arguments: Sequence[object],
    options: Options,
    orders: Sequence[Order],
    other_shapes: Iterable[tuple[Dimensions, Dimensions]],
    same_bits: bool,
) -> None:
    """Run in step; if nothing is wrong, in other orders and shapes, and compare the results."""
    written_before = {name: marks.copy() for name, marks in options.written_before.items()}
    before = copies(arguments)
    division = run_in_step(report, arguments, options)
    if report.recording is not None:
        report.recording.finish()
    if not report.ok:
        return
    quiet = options._replace(
        measure=False, record=False, expect_written=(), written_before=written_before, watch=None
    )
    for order in orders:
        again = copies(before)
        run_teams(report, again, quiet, partial(ordered_teams, order=order, division=division))
        how = f"in another order of threads ({order})"
        compare_results(report, arguments, again, how, same_bits)
    for grid, block in other_shapes:
        again = copies(before)
        run_other_shape(report, again, quiet, grid, block)
        how = f"with a grid of {grid} blocks of {block} threads"
        compare_results(report, arguments, again, how)


def run_in_step(report: Report, arguments: Sequence[object], options: Options) -> Division:
    """Run with as few teams as possible. Returns the function that divided the threads."""
    before = copies(arguments)
    finer_divisions: list[Division] = []
    if len(options.blocks) > 1:
        finer_divisions.append(team_per_block)
    if volume(report.block) > WARP:
        finer_divisions.append(team_per_warp)
    if len(options.blocks) * volume(report.block) <= MAX_TEAMS:
        finer_divisions.append(team_per_thread)
    division: Division = whole_grid
    for finer_division in finer_divisions:
        findings, seen = list(report.findings), dict(report.times_seen)
        try:
            run_teams(report, arguments, options, division, may_divide=True)
            return division
        except Stuck:
            # Threads in step wait for each other for ever, as on a GPU before Volta. A newer one
            # lets each go its own way, so divide more finely and begin again.
            report.findings[:] = findings
            report.times_seen = seen
            report.forget_run()
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
    other = Report(report.source, as_dim3(grid, "grid"), as_dim3(block, "block"), report.kinds)
    options = options._replace(blocks=blocks_to_run(other.grid, None))
    run_in_step(other, arguments, options)
    for finding in other.findings:
        report.repeat(finding, "other shape")


def run_teams(
    report: Report,
    arguments: Sequence[object],
    options: Options,
    division: Division,
    may_divide: bool = False,
) -> None:
    """Run all teams of a launch. Raises `Stuck`, if it may be divided more finely."""
    launch = Launch(report, report.grid, report.block, options, may_divide)
    wrapped, arrays = wrap_arguments(report, arguments, options)
    teams = division(launch)
    scheduler: Scheduler = Alone(launch, teams[0]) if len(teams) == 1 else TakeTurns(launch, teams)

    def run_team(team: Team) -> None:
        Interpreter(launch, team, report.source, scheduler).run(wrapped)

    try:
        scheduler.run(run_team)
    except Stop:
        return
    report_unwritten(report, arrays, options.expect_written)
    for name, written in options.written_before.items():
        written |= written_now(arrays[name])
    if launch.signed_index is not None:
        line, text = launch.signed_index
        report.add(
            "slow",
            line,
            f"the index in `{text}` is signed: Numba adds instructions so that negative ones "
            "count from the end; in a kernel that only moves memory, uint32(...) is faster",
            "signed",
            topic="signed index",
        )
