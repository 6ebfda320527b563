"""Checked indices: what a rewritten kernel does before it touches an element."""

# Numba calls these functions while it compiles: their types are Numba's.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls

import operator

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.templates import signature
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from .thread import NOTES, POSITIONS, i64, position, words

WHOLE = (types.Integer, types.IntEnumMember)
NOTE_OUTSIDE = "lab_note_outside"


@intrinsic
def inside(typing_context, array, index, site, thread):
    """`index`, if it lies within `array`; else note what happened, and raise `IndexError`.

    The numbers come back unsigned: for a signed index Numba would add Python's counting from the
    end, which a checked index never needs, and which keeps loops from being simplified.
    """
    kinds = kinds_in(index)
    refuse_unknown(array)
    if any(isinstance(kind, types.Array) for kind in kinds):
        raise TypingError("an array cannot be indexed with an array")
    if any(isinstance(kind, types.Float) for kind in kinds):
        raise TypingError(f"an index must be a whole number, not {index}")
    if not has_lengths(array) or not any(isinstance(kind, WHOLE) for kind in kinds):
        return same(1, index, array, index, site, thread)
    found = [types.uintp if isinstance(kind, WHOLE) else kind for kind in kinds]
    returned = types.Tuple(found) if isinstance(index, types.BaseTuple) else found[0]

    def generate(context, builder, signature_, arguments):
        values = checked(context, builder, array, index, arguments)
        if isinstance(index, types.BaseTuple):
            return context.make_tuple(builder, returned, values)
        return values[0]

    return signature(returned, array, index, site, thread), generate


def checked(context, builder, array, index, arguments, from_end=False):
    """The parts of an index, each looked at.

    arguments: array, index, site, thread. from_end: whether a negative one counts from the end.
    """
    kinds = kinds_in(index)
    lengths = lengths_of(context, builder, array, arguments[0])
    axes = axes_of(kinds, len(lengths))
    values = []
    for axis, kind, value in zip(axes, kinds, parts(builder, index, arguments[1]), strict=True):
        if isinstance(kind, (*WHOLE, types.Float)):  # an atomic takes 1.0, too, as on a GPU
            value, length = context.cast(builder, value, kind, types.intp), lengths[axis]
            outside = builder.icmp_unsigned(">=", value, length)
            if from_end:
                below = builder.icmp_signed("<", value, builder.neg(length))
                outside = builder.or_(builder.icmp_signed(">=", value, length), below)
            stop_if(context, builder, outside, arguments, axis, value, length)
        values.append(value)
    return values


@intrinsic
def load(typing_context, array, index, site, thread):
    """`array[index]`, where the array is an expression that should be computed once."""
    sign, look = inside._defn(typing_context, array, index, site, thread)
    found = typing_context.resolve_function_type(operator.getitem, (array, sign.return_type), {})
    if found is None:
        raise TypingError(f"there is no getitem({array}, {index})")

    def generate(context, builder, signature_, arguments):
        place = look(context, builder, sign, arguments)
        place = context.cast(builder, place, sign.return_type, found.args[1])
        read = context.get_function(operator.getitem, found)
        return read(builder, (arguments[0], place))

    return signature(found.return_type, array, index, site, thread), generate


@intrinsic
def holds(typing_context, array, index, site, thread):
    """`array`, if `index` lies within it, also where it counts from the end; else as `inside`.

    For an index that is a constant: it stays one, so that Numba may choose from a tuple by it.
    """
    refuse_unknown(array)
    if not isinstance(array, (types.Array, types.NumpyFlatType)):
        return same(0, array, array, index, site, thread)

    def generate(context, builder, signature_, arguments):
        checked(context, builder, array, index, arguments, from_end=True)
        return impl_ret_borrowed(context, builder, array, arguments[0])

    return signature(array, array, index, site, thread), generate


def same(which, returned, *kinds):
    """(signature, code generator) of an intrinsic that returns one of its arguments."""

    def generate(context, builder, signature_, arguments):
        return impl_ret_borrowed(context, builder, returned, arguments[which])

    return signature(returned, *kinds), generate


def refuse_unknown(array):
    """Of these Numba or the checks here know how long they are."""
    texts = (types.UnicodeType, types.UnicodeCharSeq, types.CharSeq)
    known = (types.Array, types.BaseTuple, types.NumpyFlatType, types.Record, *texts)
    if not isinstance(array, known):
        raise TypingError(f"{array} cannot be indexed")


def kinds_in(index):
    return list(index) if isinstance(index, types.BaseTuple) else [index]


def parts(builder, kind, index):
    is_tuple = isinstance(kind, types.BaseTuple)
    return cgutils.unpack_tuple(builder, index, len(kind)) if is_tuple else [index]


def has_lengths(kind):
    return isinstance(kind, (types.Array, types.UniTuple, types.NamedUniTuple, types.NumpyFlatType))


def lengths_of(context, builder, kind, value):
    """How many elements there are along each axis."""
    if isinstance(kind, types.Array):
        return cgutils.unpack_tuple(builder, make_array(kind)(context, builder, value).shape)
    if isinstance(kind, types.NumpyFlatType):
        flat = context.make_helper(builder, kind, value=value)
        array = make_array(kind.array_type)(context, builder, flat.array)
        return [array.nitems]
    return [context.get_constant(types.intp, len(kind))]


def axes_of(kinds, dimensions):
    """The axis that each part of an index belongs to."""
    taken = sum(isinstance(kind, (*WHOLE, types.SliceType)) for kind in kinds)
    if taken > dimensions:
        raise TypingError(f"{taken} indices for an array of {dimensions} dimensions")
    axes, axis = [], 0
    for kind in kinds:
        axes.append(axis)
        if isinstance(kind, types.EllipsisType):
            axis += dimensions - taken
        elif not isinstance(kind, types.NoneType):
            axis += 1
    return axes


def stop_if(context, builder, outside, arguments, axis, index, length):
    site, thread = arguments[2:]
    with cgutils.if_unlikely(builder, outside):
        where = [position(builder, thread, path) for path in list(POSITIONS)[:6]]  # no sizes
        builder.call(
            note_outside(builder.module),
            [words(builder, thread, NOTES), site, i64(axis), index, length, *where],
        )
        context.call_conv.return_user_exc(builder, IndexError, ())


def note_outside(module):
    """A function that writes to NOTES; its first number, of the site, is one more there."""
    kind = ir.FunctionType(ir.VoidType(), [i64.as_pointer()] + [i64] * 10)
    function = cgutils.get_or_insert_function(module, kind, NOTE_OUTSIDE)
    if not function.is_declaration:
        return function
    function.linkage = "linkonce_odr"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    notes, site, *others = function.args
    for number, value in enumerate([builder.add(site, i64(1)), *others]):
        builder.store(value, builder.gep(notes, [i64(number)]))
    builder.ret_void()
    return function


NAMES = {"inside": inside, "holds": holds, "load": load}
