"""Run a kernel on the checked simulator: `checked_run`, and the syntax of a launch."""

import ast
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..compile_verdict import Verdict, compile_verdict
from ..dimensions import Configuration, Dim3, as_dim3, configuration, forall_configuration, volume
from ..errors import refuse_names
from ..frozen_globals import Values, changes_since_compiled
from ..numba_compiler import fingerprint
from ..signatures import converted
from ..source import read_source
from .accepted import Acceptances
from .arguments import (
    arrays_of,
    check_arguments,
    copies,
    expected_outputs,
    garbage_arrays,
    report_unwritten,
    restore,
    wrap_arguments,
)
from .events import Recording
from .findings import wanted_kinds
from .interpreter import Interpreter
from .limits import check_limits
from .memory.arrays import written_now
from .options import Dimensions, Options, as_options
from .report import Report
from .scheduler import MAX_TEAMS, Scheduler, TakeTurns
from .schedules import as_schedules, compare_results, scheduled_teams
from .stops import Stop, Stuck
from .teams import (
    WARP,
    Division,
    Launch,
    LaunchOptions,
    Team,
    team_per_block,
    team_per_thread,
    team_per_warp,
    whole_grid,
)
from .unreached import report_unreached


def checked_run(
    kernel: Callable, grid: Dimensions, block: Dimensions, *arguments: object, **options: Any
) -> Report:
    """Run `kernel[grid, block](*arguments)` and return a `Report`; arrays are changed in place.

    kernel: what `@cuda.jit` made of a function (or the function itself). grid, block: ints or
    tuples of up to three. arguments: NumPy arrays, numbers, and NamedTuples of them; a Python int
    or float counts as int64 or float64, as it would in a launch.

    options: see `options.Options`, such as schedule, measure, record, dynamic_shared,
    expect_written, uninitialised, kinds and without.

    Raises `InputError` if the kernel's source cannot be read, `TypeError` for arguments that cannot
    be passed to a kernel, and `ValueError` for dimensions that are no dimensions, for names of
    arguments that are no arrays, and for blocks that the grid has not. Sizes beyond the hardware's
    limits are findings.
    """
    return run_with(as_options(options), kernel, grid, block, arguments)


def run_with(
    options: Options,
    kernel: Callable,
    grid: Dimensions,
    block: Dimensions,
    arguments: Sequence[object],
) -> Report:
    """`checked_run`, with all options in one object."""
    source = read_source(kernel)
    arguments, types = converted(kernel, arguments)
    kinds = wanted_kinds(options.kinds, options.without)
    report = Report(source, as_dim3(grid, "grid"), as_dim3(block, "block"), kinds)
    report.recording = Recording() if options.record else None
    report.acceptances = Acceptances() if options.accept else None
    check_arguments(source, arguments)
    expected = expected_outputs(source, arguments, options.expect_written)
    garbage = garbage_arrays(source, arguments, options.uninitialised)
    blocks = blocks_to_run(report.grid, options.only_blocks)
    if options.measure:
        arrays = arrays_of(source, arguments)
        report.given = kernel, arguments, types, arrays, len(blocks)
    if options.only_blocks is not None and (options.record or expected or options.other_shapes):
        raise ValueError("record, expect_written and other_shapes need all blocks, not only_blocks")
    check_limits(report, arguments, options.dynamic_shared, len(blocks))
    verdict = compile_verdict(kernel, source, arguments, types, options.ask_numba)
    report_refusals(report, verdict)
    if report.findings or report.left_out:
        return report

    of_launch = LaunchOptions(
        measure=options.measure,
        record=options.record,
        budget=options.budget,
        dynamic_shared=options.dynamic_shared,
        expect_written=expected,
        written_before=garbage,
        compiles=report.compiler_not_asked is None,
        debug=bool(getattr(kernel, "targetoptions", {}).get("debug")),
        frozen=frozen_values(report, arguments),
        blocks=blocks,
        watch=options.watch,
        negative=options.negative,
        unwritten=options.unwritten and options.negative,
    )
    run_and_compare(report, arguments, of_launch, options)
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
    options = {"measure": False, "ask_numba": ask_numba, "negative": False}
    report = checked_run(kernel, blocks, threads, *arguments, **options)
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
    report: Report, arguments: Sequence[object], options: LaunchOptions, asked: Options
) -> None:
    """Run in step; if nothing is wrong, under other schedules and shapes; compare the results."""
    schedules = as_schedules(asked.schedule)
    written_before = {name: marks.copy() for name, marks in options.written_before.items()}
    before = copies(arguments)
    division = run_in_step(report, arguments, options, before)
    if report.recording is not None:
        report.recording.finish()
    if report.not_run:
        restore(arguments, before)
    if not report.ok or report.not_run:
        return
    quiet = options._replace(
        measure=False, record=False, expect_written=(), written_before=written_before, watch=None
    )
    for schedule in schedules:
        again = copies(before)
        teams = partial(scheduled_teams, schedule=schedule, division=division)
        run_teams(report, again, quiet, teams)
        how = f"in another order of threads ({schedule})"
        compare_results(report, arguments, again, how, asked.same_bits)
    for grid, block in asked.other_shapes:
        again = copies(before)
        run_other_shape(report, again, quiet, grid, block)
        how = f"with a grid of {grid} blocks of {block} threads"
        compare_results(report, arguments, again, how)


def run_in_step(
    report: Report,
    arguments: Sequence[object],
    options: LaunchOptions,
    before: Sequence[object],
) -> Division:
    """Run with as few teams as possible. Returns the function that divided the threads.

    before: copies of the arguments.
    """
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
    options: LaunchOptions,
    grid: Dimensions,
    block: Dimensions,
) -> None:
    """Run in step with other dimensions, and add what is found to the report."""
    other = Report(report.source, as_dim3(grid, "grid"), as_dim3(block, "block"), report.kinds)
    options = options._replace(blocks=blocks_to_run(other.grid, None))
    run_in_step(other, arguments, options, copies(arguments))
    for finding in other.findings:
        report.keep(finding, "other shape")


def run_teams(
    report: Report,
    arguments: Sequence[object],
    options: LaunchOptions,
    division: Division,
    may_divide: bool = False,
) -> None:
    """Run all teams of a launch. Raises `Stuck`, if it may be divided more finely."""
    launch = Launch(report, report.grid, report.block, options, may_divide)
    wrapped, arrays = wrap_arguments(report, arguments, options)
    launch.memories = [view.memory for view in arrays.values()]
    teams = division(launch)
    scheduler = (Scheduler if len(teams) == 1 else TakeTurns)(launch, teams)

    def run_team(team: Team) -> None:
        Interpreter(launch, team, report.source, scheduler).run(wrapped)

    try:
        scheduler.run(run_team)
    except Stop:
        return
    if options.measure:
        report.work.shared_bytes = launch.shared_bytes + options.dynamic_shared
    report_unwritten(report, arrays, options.expect_written)
    if report.ok and options.unwritten and len(options.blocks) == volume(report.grid):
        report_unreached(report, arguments, arrays)
    for name, written in options.written_before.items():
        written |= written_now(arrays[name])
    if launch.signed_index is not None:
        file, line, text = launch.signed_index
        report.add(
            "slow",
            line,
            f"the index in `{text}` is signed: Numba adds instructions so that negative ones "
            "count from the end; in a kernel that only moves memory, uint32(...) is faster",
            "signed",
            topic="signed index",
            file=file,
        )


# ---------------------------------------------------------------- the syntax of a launch


def checked(kernel: Callable, **options: Any) -> "CheckedKernel":
    """A form of `kernel` that is launched as on a GPU, and returns a `Report`.

    kernel, options: as for `checked_run`. The stream is not used: the launch is over when it
    returns. `checked(kernel)[grid, block](*arrays).raise_if_problems()` is a test.
    """
    return CheckedKernel(kernel, options)


class CheckedKernel:
    """What `checked` returns: a kernel that waits for its grid and block."""

    def __init__(self, kernel: Callable, options: dict[str, Any]) -> None:
        self.kernel = kernel
        self.options = options

    def __getitem__(self, dimensions: tuple) -> Callable[..., Report]:
        return self.configured(configuration(dimensions))

    def forall(
        self, tasks: int, threads: int = 0, stream: object = 0, shared_bytes: int = 0
    ) -> Callable[..., Report]:
        """As many blocks as it takes to have a thread per task. threads: per block; 0: 128."""
        return self.configured(forall_configuration(tasks, threads, stream, shared_bytes))

    def configured(self, chosen: Configuration) -> Callable[..., Report]:
        options = {"dynamic_shared": chosen.shared_bytes, **self.options}

        def launch(*arguments: object, **by_name: object) -> Report:
            refuse_names(by_name)
            return checked_run(self.kernel, chosen.grid, chosen.block, *arguments, **options)

        return launch
