"""Real atomics: blocks run side by side on the cores."""

# Numba calls these functions while it compiles: their types are Numba's.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.typing.templates import signature
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from .bits import cast_all
from .checks import WHOLE, checked, kinds_in, parts

ORDER = "seq_cst"


def element_of(name, array, index):
    """Numba type of the element that an atomic changes. Raises `TypingError`."""
    if not isinstance(array, types.Array):
        raise TypingError(f"cuda.atomic.{name} changes an element of an array, not {array}")
    count = len(index) if isinstance(index, types.BaseTuple) else 1
    if not all(isinstance(kind, (*WHOLE, types.Float)) for kind in kinds_in(index)):
        raise TypingError(f"cuda.atomic.{name}: an index must be numbers, not {index}")
    if count != array.ndim:
        raise TypingError(f"cuda.atomic.{name}: {count} indices for {array.ndim} dimensions")
    if not isinstance(array.dtype, (types.Integer, types.Float)):
        raise TypingError(f"cuda.atomic.{name} of {array.dtype}")
    return array.dtype


def element_pointer(context, builder, signature_, arguments):
    """Address of the element that an atomic's (array, index, ..., site, thread) names.

    site: None if nobody asked for a check.
    """
    array_type, index_type = signature_.args[:2]
    array = make_array(array_type)(context, builder, arguments[0])
    if isinstance(signature_.args[-2], types.NoneType):
        values = parts(builder, index_type, arguments[1])
        indices = cast_all(context, builder, values, kinds_in(index_type), types.intp)
    else:
        place = [*arguments[:2], *arguments[-2:]]
        indices = checked(context, builder, array_type, index_type, place)
    return cgutils.get_item_pointer(context, builder, array_type, array, indices, wraparound=False)


def read_modify_write(name, for_floats, for_signed, for_unsigned):
    """An atomic that LLVM has an instruction for. Returns the old value.

    for_floats: may be a function, (builder, pointer, new) -> the old value.
    """

    @intrinsic
    def change(typing_context, array, index, value, site, thread):
        element = element_of(name, array, index)
        if isinstance(element, types.Float):
            instruction = for_floats
        else:
            instruction = for_signed if element.signed else for_unsigned
        if instruction is None:
            raise TypingError(f"cuda.atomic.{name} of {element}")

        def generate(context, builder, signature_, arguments):
            pointer = element_pointer(context, builder, signature_, arguments)
            new = context.cast(builder, arguments[2], signature_.args[2], element)
            if callable(instruction):
                return instruction(builder, pointer, new)
            return builder.atomic_rmw(instruction, pointer, new, ORDER)

        return signature(element, array, index, value, site, thread), generate

    return change


def extreme(name, comparison, operation, over_nan):
    """`max` and its like: the value is stored if it compares so with the old one.

    over_nan: whether a number takes the place of NaN.
    """

    def of_floats(builder, pointer, new):
        def chosen(old):
            better = builder.fcmp_ordered(comparison, new, old)
            if over_nan:
                better = builder.or_(better, builder.fcmp_unordered("uno", old, old))
            return builder.select(better, new, old)

        return until_unchanged(builder, pointer, chosen)

    return read_modify_write(name, of_floats, operation, f"u{operation}")


def until_unchanged(builder, pointer, changed):
    """Store `changed(old)` of a float, again and again until nobody came between; the old value."""
    kind = pointer.type.pointee
    bits = ir.IntType(64 if isinstance(kind, ir.DoubleType) else 32)
    whole = builder.bitcast(pointer, bits.as_pointer())
    first = builder.load_atomic(whole, "monotonic", align=bits.width // 8)
    again = builder.append_basic_block("again")
    done = builder.append_basic_block("done")
    before = builder.block
    builder.branch(again)
    builder.position_at_end(again)
    old = builder.phi(bits)
    old.add_incoming(first, before)
    new = builder.bitcast(changed(builder.bitcast(old, kind)), bits)
    result = builder.cmpxchg(whole, old, new, ORDER, ORDER)
    old.add_incoming(builder.extract_value(result, 0), builder.block)
    builder.cbranch(builder.extract_value(result, 1), done, again)
    builder.position_at_end(done)
    return builder.bitcast(old, kind)


@intrinsic
def compare_and_swap(typing_context, array, index, expected, value, site, thread):
    element = element_of("cas", array, index)

    def generate(context, builder, signature_, arguments):
        pointer = element_pointer(context, builder, signature_, arguments)
        old, new = cast_all(context, builder, arguments[2:4], signature_.args[2:4], element)
        if isinstance(element, types.Float):
            # Floats are compared as bits, as on a GPU.
            bits = ir.IntType(element.bitwidth)
            pointer = builder.bitcast(pointer, bits.as_pointer())
            old, new = builder.bitcast(old, bits), builder.bitcast(new, bits)
        result = builder.cmpxchg(pointer, old, new, ORDER, ORDER)
        found = builder.extract_value(result, 0)
        if isinstance(element, types.Float):
            found = builder.bitcast(found, context.get_value_type(element))
        return found

    return signature(element, array, index, expected, value, site, thread), generate


ATOMICS = {
    "add": read_modify_write("add", "fadd", "add", "add"),
    "sub": read_modify_write("sub", "fsub", "sub", "sub"),
    "max": extreme("max", ">", "max", over_nan=False),
    "min": extreme("min", "<", "min", over_nan=False),
    "nanmax": extreme("nanmax", ">", "max", over_nan=True),
    "nanmin": extreme("nanmin", "<", "min", over_nan=True),
    "exch": read_modify_write("exch", "xchg", "xchg", "xchg"),
    "and_": read_modify_write("and_", None, "and", "and"),
    "or_": read_modify_write("or_", None, "or", "or"),
    "xor": read_modify_write("xor", None, "xor", "xor"),
    "inc": read_modify_write("inc", None, "uinc_wrap", "uinc_wrap"),
    "dec": read_modify_write("dec", None, "udec_wrap", "udec_wrap"),
    "cas": compare_and_swap,
}
NAMES = {f"atomic_{operation}": change for operation, change in ATOMICS.items()}
