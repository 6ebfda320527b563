"""Who of a block goes on: at barriers, in warps, and in loops that wait for memory."""

from typing import Any

from numba import njit

from .warps import (
    BALLOT,
    BARRIER,
    CONVERGED,
    DELIVERED,
    DONE,
    FULL,
    GROUP,
    IN_WARP,
    MASK,
    OFFER,
    READY,
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
