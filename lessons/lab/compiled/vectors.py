"""Vector types such as `cuda.float32x4`, as tuples with names."""

# Numba calls these functions while it compiles: their types are Numba's.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls

import collections
import functools

from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from ..names import VECTORS


@functools.cache
def vector_type(path):
    """Numba type of `cuda.<path>`, a name in `VECTORS`."""
    name = VECTORS[path]
    kind, _, count = name.rpartition("x")
    fields = collections.namedtuple(name, list("xyzw"[: int(count)]))
    return types.NamedUniTuple(getattr(types, kind), int(count), fields)


@functools.cache
def vector_maker(path):
    """An intrinsic from a tuple of numbers and shorter vectors to a vector."""
    kind = vector_type(path)

    @intrinsic
    def make(typing_context, values):
        counts = [len(value) if isinstance(value, types.BaseTuple) else 1 for value in values]
        if sum(counts) != len(kind):
            raise TypingError(f"cuda.{path} takes {len(kind)} numbers, not {sum(counts)}")

        def generate(context, builder, signature_, arguments):
            found = []
            for given, value in zip(
                values, cgutils.unpack_tuple(builder, arguments[0]), strict=True
            ):
                if isinstance(given, types.BaseTuple):
                    members = zip(given, cgutils.unpack_tuple(builder, value), strict=True)
                else:
                    members = [(given, value)]
                found += [context.cast(builder, m, k, kind.dtype) for k, m in members]
            return context.make_tuple(builder, kind, found)

        return signature(kind, values), generate

    return make
