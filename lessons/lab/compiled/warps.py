"""Shuffles, votes and waits: what threads of a warp and of a block tell each other.

A thread offers a value, waits, and reads what the others have offered. Whoever runs the block
delivers the offers when all threads named in a mask have come (`turns.deliver`).
"""

# Numba compiles these functions, or calls them while it compiles: their types are Numba's.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from .thread import WARP, i32, i64, lane_of, number_in_block, position, returning, words

# What a thread waits for, and so what a generator yields; READY and DONE are said of it by others.
READY, BARRIER, IN_WARP, CONVERGED, SPINNING, GRID, DONE = range(7)

# Rows of warp memory, (ROWS, threads) int64, a column per thread of the block.
OFFER, MASK, SITE, DELIVERED, BALLOT, GROUP, VOTES = range(7)
ROWS = 7
FULL = 0xFFFFFFFF

SHUFFLED = (types.int32, types.uint32, types.int64, types.uint64, types.float32, types.float64)


def threads_of_block(builder, thread):
    x, y, z = (position(builder, thread, f"blockDim.{axis}") for axis in "xyz")
    return builder.mul(builder.mul(x, y), z)


def cell(builder, thread, row, column):
    """Pointer to warp memory; its rows are as long as the block."""
    place = builder.add(builder.mul(i64(row), threads_of_block(builder, thread)), column)
    return builder.gep(words(builder, thread, WARP), [place])


def mine(builder, thread, row):
    return cell(builder, thread, row, number_in_block(builder, thread))


def as_word(builder, value):
    """The bits of a number, in 64."""
    if isinstance(value.type, (ir.FloatType, ir.DoubleType)):
        width = 32 if isinstance(value.type, ir.FloatType) else 64
        value = builder.bitcast(value, ir.IntType(width))
    return value if value.type.width == 64 else builder.zext(value, i64)


def from_word(builder, value, kind):
    """The number of LLVM type `kind` whose bits these are."""
    if isinstance(kind, ir.IntType):
        return value if kind.width == 64 else builder.trunc(value, kind)
    width = 32 if isinstance(kind, ir.FloatType) else 64
    return builder.bitcast(from_word(builder, value, ir.IntType(width)), kind)


# ---------------------------------------------------------------- before the wait


@intrinsic
def offer(typing_context, thread, site, mask, value):
    """Say which threads of the warp to wait for, and with which value. Returns the value.

    mask: a bit per lane; site: the place in the source, where all of them have to come.
    """
    kind = types.unliteral(value)
    if kind not in SHUFFLED:
        raise TypingError(f"threads of a warp cannot exchange {kind}: 32 or 64 bits, please")

    def generate(context, builder, signature_, arguments):
        thread, site, mask, number = arguments
        mask = context.cast(builder, mask, signature_.args[2], types.uint32)
        builder.store(as_word(builder, number), mine(builder, thread, OFFER))
        builder.store(builder.zext(mask, i64), mine(builder, thread, MASK))
        builder.store(site, mine(builder, thread, SITE))
        return number

    return signature(kind, thread, site, mask, kind), generate


@intrinsic
def truth(typing_context, value):
    """A condition as int32, to be offered."""

    def generate(context, builder, signature_, arguments):
        truth = context.is_true(builder, value, arguments[0])
        return builder.zext(truth, i32)

    return signature(types.int32, value), generate


@intrinsic
def vote(typing_context, thread, condition):
    """Tell the block whether a condition holds."""

    def generate(context, builder, signature_, arguments):
        truth = context.is_true(builder, condition, arguments[1])
        # The votes of all threads are counted in the row of the offers.
        builder.store(builder.zext(truth, i64), mine(builder, arguments[0], VOTES))
        return context.get_dummy_value()

    return signature(types.none, thread, condition), generate


# ---------------------------------------------------------------- after the wait


def shuffle(chosen):
    """An intrinsic that reads the value of another lane, or one's own where there is none.

    chosen: (builder, own lane, argument) -> (lane, whether there is one).
    """

    @intrinsic
    def read(typing_context, thread, argument, offered, waited):
        def generate(context, builder, signature_, arguments):
            thread, argument, own = arguments[:3]
            argument = context.cast(builder, argument, signature_.args[1], types.int32)
            number, lane = number_in_block(builder, thread), lane_of(builder, thread)
            other, exists = chosen(builder, lane, argument)
            first = builder.sub(number, builder.sext(lane, i64))
            column = builder.add(first, builder.sext(other, i64))
            is_there = builder.icmp_unsigned("<", column, threads_of_block(builder, thread))
            exists = builder.and_(exists, is_there)
            column = builder.select(exists, column, number)
            found = builder.load(cell(builder, thread, DELIVERED, column))
            return builder.select(exists, from_word(builder, found, own.type), own)

        return signature(offered, thread, argument, offered, waited), generate

    return read


def below_32(builder, lane):
    return lane, builder.icmp_unsigned("<", lane, i32(32))


SHUFFLES = {
    "shfl_sync": shuffle(lambda b, lane, source: below_32(b, b.and_(source, i32(31)))),
    "shfl_up_sync": shuffle(lambda b, lane, delta: below_32(b, b.sub(lane, delta))),
    "shfl_down_sync": shuffle(lambda b, lane, delta: below_32(b, b.add(lane, delta))),
    "shfl_xor_sync": shuffle(lambda b, lane, mask: below_32(b, b.xor(lane, mask))),
}  # fmt: skip


def ballot(returned, result):
    """An intrinsic of a vote. result: (builder, ballot, group) -> LLVM value.

    ballot, group: i64; of a warp masks, of a block numbers of threads.
    """

    @returning(returned)
    def read(context, builder, thread, offered, waited):
        found = [builder.load(mine(builder, thread, row)) for row in (BALLOT, GROUP)]
        return result(builder, *found)

    return read


def all_voted(builder, votes, group):
    return builder.icmp_unsigned("==", votes, group)


def none_voted(builder, votes, group):
    return builder.icmp_unsigned("==", votes, i64(0))


def as_int(vote):
    return lambda builder, *found: builder.zext(vote(builder, *found), i32)


VOTES_OF_A_BLOCK = {
    "syncthreads_count": ballot(types.int32, lambda builder, votes, _: builder.trunc(votes, i32)),
    "syncthreads_and": ballot(types.int32, as_int(all_voted)),
    "syncthreads_or": ballot(types.int32, as_int(lambda *args: args[0].not_(none_voted(*args)))),
}
VOTES_OF_A_WARP = {
    "all_sync": ballot(types.boolean, all_voted),
    "any_sync": ballot(types.boolean, lambda *args: args[0].not_(none_voted(*args))),
    "eq_sync": ballot(
        types.boolean, lambda *args: args[0].or_(all_voted(*args), none_voted(*args))
    ),
    "ballot_sync": ballot(types.int32, lambda builder, votes, _: builder.trunc(votes, i32)),
}


@returning(types.int32)
def same_value(context, builder, thread, offered, waited):
    """Mask of the lanes that have offered the same value."""
    return lanes_with_same_value(builder, thread, offered)


def lanes_with_same_value(builder, thread, offered):
    own = as_word(builder, offered)
    group = builder.load(mine(builder, thread, GROUP))
    first = builder.and_(number_in_block(builder, thread), i64(~31))
    found = cgutils.alloca_once_value(builder, i64(0))
    with cgutils.for_range(builder, i64(32)) as loop:
        bit = builder.shl(i64(1), loop.index)
        with builder.if_then(cgutils.is_not_null(builder, builder.and_(group, bit))):
            other = builder.load(cell(builder, thread, DELIVERED, builder.add(first, loop.index)))
            with builder.if_then(builder.icmp_unsigned("==", own, other)):
                builder.store(builder.or_(builder.load(found), bit), found)
    return builder.trunc(builder.load(found), i32)


MATCH = types.Tuple((types.int32, types.boolean))


@returning(MATCH)
def all_same(context, builder, thread, offered, waited):
    """(mask of the lanes that came, True) if all have offered the same value; else (0, False)."""
    found = lanes_with_same_value(builder, thread, offered)
    group = builder.trunc(builder.load(mine(builder, thread, GROUP)), i32)
    all_are = builder.icmp_unsigned("==", found, group)
    mask = builder.select(all_are, group, i32(0))
    return context.make_tuple(builder, MATCH, [mask, all_are])


@returning(types.uint32)
def group_of(context, builder, thread, offered, waited):
    """Mask of the lanes that came together."""
    return builder.trunc(builder.load(mine(builder, thread, GROUP)), i32)


OTHERS: tuple[Any, ...] = (offer, truth, vote, same_value, all_same, group_of)
NAMES = {
    **{function.__name__: function for function in OTHERS},
    **SHUFFLES,
    **VOTES_OF_A_WARP,
    **VOTES_OF_A_BLOCK,
}
