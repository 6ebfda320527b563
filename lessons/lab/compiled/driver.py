"""The compiled loop over blocks and threads, and which threads of a block go on."""

from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core import cgutils, types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from .compiler import Part
from .memory import GARBAGE
from .program import Rewritten
from .thread import ENDED, SPINS, STOP, i64, mark_stack, thread_of
from .warps import (
    BALLOT,
    BARRIER,
    CONVERGED,
    DELIVERED,
    DONE,
    FULL,
    GRID,
    GROUP,
    IN_WARP,
    MASK,
    OFFER,
    READY,
    ROWS,
    SITE,
    SPINNING,
    VOTES,
)

# Numba compiles these functions: their types are Numba's.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls

OPTIONS: Any = {"nogil": True, "_nrt": False}
STUCK = -1  # in NOTES: threads of a warp wait for each other and never meet


@njit(**OPTIONS)
def deliver(states, memory, first, last):
    """Deliver what lanes of a warp have offered, where all of a mask have come; whether any had.

    states: what each thread waits for. memory: (ROWS, threads). first, last: threads of the warp.
    """
    any_delivered = False
    for leader in range(first, last):
        if states[leader] != IN_WARP:
            continue
        mask, site = memory[MASK, leader], memory[SITE, leader]
        complete = True
        for thread in range(first, last):
            named = (mask >> (thread - first)) & 1
            here = states[thread] == IN_WARP and memory[SITE, thread] == site
            here = here and memory[MASK, thread] == mask
            if named and not here and states[thread] != DONE:
                complete = False
                break
        if complete:
            deliver_group(states, memory, first, last, IN_WARP, site, mask)
            any_delivered = True
    return any_delivered


@njit(**OPTIONS)
def converge(states, memory, first, last):
    """Let those go on that ask who came to the same place; whether there are any."""
    for leader in range(first, last):
        if states[leader] == CONVERGED:
            deliver_group(states, memory, first, last, CONVERGED, memory[SITE, leader], FULL)
            return True
    return False


@njit(**OPTIONS)
def deliver_group(states, memory, first, last, state, site, mask):
    ballot = group = 0
    for thread in range(first, last):
        if (
            states[thread] == state
            and memory[SITE, thread] == site
            and memory[MASK, thread] == mask
        ):
            bit = 1 << (thread - first)
            group |= bit
            if memory[OFFER, thread] != 0:
                ballot |= bit
    for thread in range(first, last):
        if (group >> (thread - first)) & 1:
            memory[DELIVERED, thread] = memory[OFFER, thread]
            memory[BALLOT, thread] = ballot
            memory[GROUP, thread] = group
            states[thread] = READY


@njit(**OPTIONS)
def open_barrier(states, memory, threads, notes):
    """Let threads go on where none is ready; False if they wait for each other for ever.

    First those that wait for memory, in loops. Without any, those at a barrier, which are all that
    still run.
    """
    spinning = False
    for thread in range(threads):
        if states[thread] == SPINNING:
            states[thread] = READY
            spinning = True
    if spinning:
        return True
    votes = count = 0
    for thread in range(threads):
        if states[thread] == IN_WARP:
            notes[0], notes[1], notes[2] = STUCK, thread, memory[SITE, thread]
            return False
        if states[thread] == BARRIER:
            votes += memory[VOTES, thread]
            count += 1
    for thread in range(threads):
        if states[thread] == BARRIER:
            memory[BALLOT, thread] = votes
            memory[GROUP, thread] = count
            states[thread] = READY
    return True


# ---------------------------------------------------------------- the loop


class Driver:
    """The text of the loop, and what became known of the kernel when it was compiled."""

    def __init__(self, rewritten: Rewritten, arguments: int) -> None:
        """arguments: how many the kernel takes."""
        self.generator_bytes = 0  # per thread, once it is compiled
        kernel = rewritten.function
        warps = bool(rewritten.waits & {IN_WARP, CONVERGED})
        scope: dict[str, Any] = {
            "thread_of": thread_of,
            "mark_stack": mark_stack,
            "run_once": run_once(kernel),
            "start": start(kernel, self),
            "resume": resume(kernel),
            "deliver": deliver,
            "converge": converge,
            "open_barrier": open_barrier,
        }
        passed = [f"argument_{i}" for i in range(arguments)]
        text = HEAD + (WAITING if rewritten.waits else ONE_BY_ONE)
        if GRID in rewritten.waits:
            text = HEAD + WAITING_FOR_GRID
        values = {
            "NUMBER": "block * threads + thread" if GRID in rewritten.waits else "thread",
            "ROWS": ROWS,
            "ARGUMENTS": ", ".join(passed),
            "TUPLE": f"({', '.join(passed)}{',' if passed else ''})",
            "GARBAGE": GARBAGE,
            "STOP": STOP,
            "READY": READY,
            "DONE": DONE,
            "GRID": GRID,
            **(SPINS_COUNTED if SPINNING in rewritten.waits else SPINS_NOT_COUNTED),
            "DELIVER": "deliver(states, warp, begin, end)" if warps else "False",
            "CONVERGE": "converge(states, warp, begin, end)" if warps else "False",
        }
        for name, value in values.items():
            text = text.replace(f"<{name}>", str(value))
        exec(text, scope)
        self.function: Callable = scope["run_blocks"]


HEAD = """
def run_blocks(
    first, last, block_size, grid_size, notes, memory, shared, states, warp, generators, <ARGUMENTS>
):
    threads = block_size[0] * block_size[1] * block_size[2]
    mark_stack(notes)
"""

ONE_BY_ONE = """
    for block in range(first, last):
        if notes[<STOP>]:
            return
        shared[:] = <GARBAGE>
        for thread in range(threads):
            where = thread_of(thread, block, block_size, grid_size, memory)
            run_once(where, notes, <TUPLE>)
"""

# How often in turn all threads that run have only waited for memory to change.
SPINS_COUNTED = {
    "BEGIN_SPINS": f"spins = notes[{SPINS}] + 1",
    "COUNT_SPINS": f"spins *= states[thread] == {SPINNING}",
    "END_SPINS": f"notes[{SPINS}] = spins",
    "LET_OTHERS": "if spins: break",
}
SPINS_NOT_COUNTED = dict.fromkeys(SPINS_COUNTED, "pass")

ROUND = """
            <BEGIN_SPINS>
            for begin in range(0, threads, 32):
                end = min(begin + 32, threads)
                moving = True
                while moving:
                    for thread in range(begin, end):
                        if states[thread] == <READY>:
                            states[thread] = resume(generators, <NUMBER>, notes, where, <TUPLE>)
                            if states[thread] >= <GRID>:
                                running -= 1
                            <COUNT_SPINS>
                    moving = <DELIVER> or <CONVERGE>
            <END_SPINS>
            if running > 0 and not open_barrier(states, warp, threads, notes):
                return
"""

WAITING = (
    """
    for block in range(first, last):
        if notes[<STOP>]:
            return
        shared[:] = <GARBAGE>
        where = thread_of(0, block, block_size, grid_size, memory)
        for thread in range(threads):
            where = thread_of(thread, block, block_size, grid_size, memory)
            start(generators, thread, where, <TUPLE>)
            states[thread] = <READY>
        running = threads
        while running > 0:
"""
    + ROUND
)

# All blocks at once, each with memory of its own; `first` is 0.
WAITING_FOR_GRID = (
    """
    blocks = last
    all_states, all_warps = states, warp
    address, shared_address, local_address, warp_address, local_bytes, dynamic_bytes = memory
    shared[:] = <GARBAGE>
    where = thread_of(0, 0, block_size, grid_size, memory)
    for block in range(blocks):
        mine = (
            address,
            shared_address + block * (shared.size // blocks),
            local_address + block * threads * local_bytes,
            warp_address + block * <ROWS> * threads * 8,
            local_bytes,
            dynamic_bytes,
        )
        for thread in range(threads):
            where = thread_of(thread, block, block_size, grid_size, mine)
            start(generators, <NUMBER>, where, <TUPLE>)
            all_states[<NUMBER>] = <READY>
    alive = blocks * threads
    while alive > 0:
        for block in range(blocks):
            states = all_states[block * threads : (block + 1) * threads]
            warp = all_warps[block * <ROWS> : (block + 1) * <ROWS>]
            running = 0
            for thread in range(threads):
                running += states[thread] < <GRID>
            while running > 0:
                if notes[<STOP>]:
                    return
"""
    + "\n".join(line and f"    {line}" for line in ROUND.splitlines())
    + """
                <LET_OTHERS>
        alive = at_barrier = 0
        for number in range(blocks * threads):
            alive += all_states[number] != <DONE>
            at_barrier += all_states[number] == <GRID>
        if alive == at_barrier:
            for number in range(blocks * threads):
                if all_states[number] == <GRID>:
                    all_states[number] = <READY>
"""
)


def run_once(kernel: Part):
    """An intrinsic that runs one thread to its end."""

    @intrinsic
    def run(typing_context, where, notes, arguments):
        result, kinds = compiled_for(kernel, where, arguments)

        def generate(context, builder, signature_, values):
            passed = [values[0], *cgutils.unpack_tuple(builder, values[2])]
            status, _ = context.call_internal_no_propagate(
                builder, result.fndesc, signature(types.none, *kinds), passed
            )
            stop_unless_ended(context, builder, status, notes, values[1])
            return context.get_dummy_value()

        return signature(types.none, where, notes, arguments), generate

    return run


def start(kernel: Part, driver: Driver):
    """An intrinsic that puts a thread of a kernel with barriers into the row of generators."""

    @intrinsic
    def begin(typing_context, generators, thread, where, arguments):
        result, kinds = compiled_for(kernel, where, arguments)
        kind = result.signature.return_type

        def generate(context, builder, signature_, values):
            driver.generator_bytes = generator_bytes(context, kind)
            passed = [values[2], *cgutils.unpack_tuple(builder, values[3])]
            _, made = context.call_internal_no_propagate(
                builder, result.fndesc, signature(kind, *kinds), passed
            )
            place = generator_at(context, builder, kind, generators, values)
            builder.store(builder.load(made), place)
            return context.get_dummy_value()

        return signature(types.none, generators, thread, where, arguments), generate

    return begin


def resume(kernel: Part):
    """An intrinsic that lets a thread go on, and returns what it then waits for."""

    @intrinsic
    def go_on(typing_context, generators, thread, notes, where, arguments):
        result, _ = compiled_for(kernel, where, arguments)
        kind = result.signature.return_type

        def generate(context, builder, signature_, values):
            place = generator_at(context, builder, kind, generators, values)
            next_of = context.get_generator_impl(kind)
            status, code = next_of(context, builder, signature(kind.yield_type, kind), [place])
            ended = status.is_stop_iteration
            with builder.if_then(builder.not_(ended)):
                stop_unless_ended(context, builder, status, notes, values[2])
            code = context.cast(builder, code, kind.yield_type, types.int64)
            return builder.select(status.is_ok, code, i64(DONE))

        return signature(types.int64, generators, thread, notes, where, arguments), generate

    return go_on


def compiled_for(kernel: Part, where, arguments):
    """(compile result, argument types) of a kernel for a thread and a tuple of arguments."""
    kinds = (where, *arguments)
    kernel.compile(kinds)
    return kernel.overloads[kinds], kinds


def generator_bytes(context, kind):
    return -(-context.get_abi_sizeof(context.get_data_type(kind)) // 16) * 16


def generator_at(context, builder, kind, generators, values):
    """Pointer to the generator of thread number values[1]."""
    array = context.make_array(generators)(context, builder, values[0])
    offset = builder.mul(values[1], i64(generator_bytes(context, kind)))
    return builder.bitcast(builder.gep(array.data, [offset]), context.get_value_type(kind))


def stop_unless_ended(context, builder, status, notes_type, notes):
    """Where a thread ended with an exception: go on if it was its own `raise`, else pass it on."""
    with cgutils.if_unlikely(builder, status.is_error):
        array = context.make_array(notes_type)(context, builder, notes)
        ended = builder.gep(array.data, [i64(ENDED)])
        with cgutils.if_unlikely(builder, cgutils.is_null(builder, builder.load(ended))):
            context.call_conv.return_status_propagate(builder, status)
        builder.store(i64(0), ended)
