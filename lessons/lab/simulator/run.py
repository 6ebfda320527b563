"""Run any kernel without a GPU, and see every bug it has.

    from lessons.lab import checked_run

    report = checked_run(kernel, grid, block, *arrays)
    print(report)

takes the same `@cuda.jit` kernel that a GPU would run, with NumPy arrays in place of device arrays.
It runs the kernel for all threads in lock step (see `lockstep`), checks every access to memory (see
`access` and `memory`), and computes with the types Numba would use (see `numbers_like_cuda`).

Honest limits. Only what runs is checked: a branch that no thread takes on your input is not looked
at, except for what the compiler would refuse. Memory is simple: a write is seen by everybody at
once; a GPU may show writes of other blocks late and in another order, so a kernel that passes data
through global memory with flags and `threadfence` is reported as a race even when the fences are
right, and a missing fence is not reported as such. Two threads that store the same value are not
reported. A multiply and an add are rounded twice here, once on a GPU. Speed is not simulated: the
table counts traffic, not time.
"""

import numpy as np

from kernels.errors import InputError
from lessons.lab.compile_checks import compile_refusals
from lessons.lab.dimensions import MAX_BLOCK, MAX_GRID, MAX_THREADS, as_dim3, volume
from lessons.lab.numba_types import typed
from lessons.lab.simulator import teams as machine
from lessons.lab.simulator.interpreter import Lockstep
from lessons.lab.simulator.memory import wrap_global_arrays
from lessons.lab.simulator.report import Report
from lessons.lab.simulator.scheduler import Alone, TakeTurns
from lessons.lab.simulator.teams import Launch, Stop, Stuck
from lessons.lab.source import read_source

BUDGET = 3_000_000
MAX_TEAMS = 512
# Float sums in another order differ by rounding; anything more is a difference worth reporting.
ORDER_TOLERANCE = 1e-3


def checked_run(
    kernel, grid, block, *arguments,
    schedule=None, other_shapes=(), measure=True, record=False, budget=BUDGET, dynamic_shared=0,
):  # fmt: skip
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
    grid, block = as_dim3(grid, "grid"), as_dim3(block, "block")
    report = Report(source, grid, block)
    check_arguments(source, arguments)
    check_limits(report)
    for refusal in compile_refusals(source):
        report.add("compile", refusal.line, refusal.message, refusal.filename)
    if report.findings:
        return report

    options = (measure, record, budget, dynamic_shared)
    before = copies(arguments)
    division = run_in_step(report, arguments, before, options)
    if any(not finding.advice and finding.kind != "slow" for finding in report.findings):
        return report
    quiet = (False, False, budget, dynamic_shared)
    for order in as_orders(schedule):
        again = copies(before)
        run_teams(
            report, again, quiet, lambda launch: ordered_teams(launch, order, division), False
        )
        compare_results(report, arguments, again, f"in another order of threads ({order})")
    for other_grid, other_block in other_shapes:
        again = copies(before)
        other = Report(source, as_dim3(other_grid, "grid"), as_dim3(other_block, "block"))
        run_in_step(other, again, copies(before), quiet)
        for finding in other.findings:
            report.add(finding.kind, finding.line, finding.message, "other shape", finding.advice)
        shape = f"with a grid of {other_grid} blocks of {other_block} threads"
        compare_results(report, arguments, again, shape)
    return report


# ---------------------------------------------------------------- running


def run_in_step(report, arguments, before, options):
    """Run with as few teams as possible. Returns the function that divided the threads."""
    divisions = [machine.whole_grid]
    if report.grid != (1, 1, 1):
        divisions.append(machine.team_a_block)
    if volume(report.grid) * volume(report.block) <= MAX_TEAMS:
        divisions.append(machine.team_a_thread)
    for number, division in enumerate(divisions):
        findings = list(report.findings)
        try:
            run_teams(report, arguments, options, division, number + 1 < len(divisions))
            return division
        except Stuck:
            # Threads in step wait for each other for ever, as on a GPU before Volta. A newer one
            # lets each go its own way, so divide more finely and begin again.
            report.findings[:] = findings
            report.traffic.clear()
            report.events.clear()
            restore(arguments, before)
    return divisions[-1]


def run_teams(report, arguments, options, division, may_divide):
    launch = Launch(report, report.grid, report.block, *options)
    launch.may_divide = may_divide
    wrapped = wrap_arguments(report, arguments)
    teams = division(launch)
    try:
        if len(teams) == 1:
            launch.scheduler = Alone()
            Lockstep(launch, teams[0], report.source).run(wrapped)
        else:
            launch.scheduler = TakeTurns(launch, teams)
            launch.scheduler.run(lambda team: Lockstep(launch, team, report.source).run(wrapped))
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


def as_orders(schedule):
    if schedule is None:
        return []
    return list(schedule) if isinstance(schedule, (list, tuple, range)) else [schedule]


def ordered_teams(launch, order, division):
    if order == "reverse":
        teams = machine.reversed_teams(launch)
        return teams if division is machine.whole_grid else list(reversed(division(launch)))
    if isinstance(order, (int, np.integer)) and order >= 0:
        if division is machine.team_a_thread:
            teams = division(launch)
            return [
                teams[i]
                for i in np.random.Generator(np.random.Philox(order)).permutation(len(teams))
            ]
        return machine.shuffled_teams(launch, order)
    raise ValueError(
        f'a schedule is None, "reverse", a seed >= 0, or a list of these, not {order!r}'
    )


# ---------------------------------------------------------------- arguments


def check_arguments(source, arguments):
    names = [argument.arg for argument in source.tree.args.args]
    if len(names) != len(arguments):
        raise TypeError(
            f"{source.function.__name__} takes {len(names)} arguments ({', '.join(names)}), "
            f"but {len(arguments)} were given"
        )
    for name, value in zip(names, arguments, strict=True):
        check_argument(name, value)


def check_argument(name, value):
    if isinstance(value, tuple):
        for item in value:
            check_argument(name, item)
    elif isinstance(value, np.ndarray):
        if value.dtype.kind not in "iufb":
            raise TypeError(
                f"argument {name} is an array of {value.dtype}; use numbers, such as float32"
            )
        if any(stride < 0 or stride % value.itemsize for stride in value.strides):
            raise TypeError(
                f"argument {name} runs backward in memory; pass np.ascontiguousarray({name})"
            )
    elif not isinstance(value, (bool, int, float, np.generic)):
        raise TypeError(
            f"argument {name} is a {type(value).__name__}; a kernel takes NumPy arrays and numbers"
        )


def wrap_arguments(report, arguments):
    """Arguments as the interpreter sees them: views for arrays, typed numbers for numbers."""
    names = [argument.arg for argument in report.source.tree.args.args]
    arrays = {}
    collect_arrays(names, arguments, arrays)
    for name, array in arrays.items():
        if array.dtype == np.float64:
            report.add(
                "slow",
                report.source.tree.lineno,
                f"argument {name} is a float64 array; most GPUs compute "
                f"float32 32 or 64 times faster: pass {name}.astype(np.float32)",
                name,
            )
    views = wrap_global_arrays(arrays)
    return [wrap(name, value, views) for name, value in zip(names, arguments, strict=True)]


def collect_arrays(names, values, arrays):
    for name, value in zip(names, values, strict=True):
        if isinstance(value, np.ndarray):
            arrays[name] = value
        elif isinstance(value, tuple):
            fields = getattr(value, "_fields", range(len(value)))
            collect_arrays([f"{name}.{field}" for field in fields], value, arrays)


def wrap(name, value, views):
    if isinstance(value, np.ndarray):
        return views[name]
    if isinstance(value, tuple):
        fields = getattr(value, "_fields", range(len(value)))
        items = [
            wrap(f"{name}.{field}", item, views) for field, item in zip(fields, value, strict=True)
        ]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return typed(value)


def copies(values):
    return [
        value.copy() if isinstance(value, np.ndarray)
        else rebuild(value, copies(value)) if isinstance(value, tuple)
        else value
        for value in values
    ]  # fmt: skip


def rebuild(original, items):
    return type(original)(*items) if hasattr(original, "_fields") else tuple(items)


def restore(arguments, before):
    for value, old in zip(arguments, before, strict=True):
        if isinstance(value, np.ndarray):
            value[...] = old
        elif isinstance(value, tuple):
            restore(value, old)


# ---------------------------------------------------------------- limits and results


def check_limits(report):
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


def compare_results(report, arguments, again, how):
    names = [argument.arg for argument in report.source.tree.args.args]
    for name, first, second in zip(names, arguments, again, strict=True):
        if isinstance(first, tuple):
            continue
        if isinstance(first, np.ndarray) and not agree(first, second):
            place = np.unravel_index(int(np.flatnonzero(differing(first, second))[0]), first.shape)
            index = ", ".join(str(int(i)) for i in place)
            report.add(
                "order",
                report.source.tree.lineno,
                f"{name}[{index}] is {first[place]}, but {second[place]} "
                f"{how}: the result must not depend on which thread comes first",
                name,
            )


def differing(first, second):
    if first.dtype.kind != "f":
        return (first != second).reshape(-1)
    scale = np.nanmax(np.abs(first), initial=0.0) if first.size else 0.0
    close = np.isclose(
        first, second, rtol=ORDER_TOLERANCE, atol=ORDER_TOLERANCE * scale, equal_nan=True
    )
    return ~close.reshape(-1)


def agree(first, second):
    return not differing(first, second).any()


def launch(kernel, blocks, threads, *arguments):
    """A launcher for the `launch_*` functions of `kernels`: checked, and strict.

    Raises `InputError` with the findings if there are any but advice.
    """
    report = checked_run(kernel, blocks, threads, *arguments, measure=False)
    if not report.ok:
        raise InputError(str(report))
