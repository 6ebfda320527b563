"""Types, methods and arguments of one's own, by the extension API of numba-cuda."""

# fmt: off
import numpy as np
from numba import cuda
from numba.cuda import cgutils, extending, types
from numba.cuda.cudadecl import registry
from numba.cuda.cudaimpl import lower_attr
from numba.cuda.typing.templates import AttributeTemplate


class Interval:
    def __init__(self, low, high):
        self.low = low
        self.high = high
    @property
    def width(self):
        return self.high - self.low
class IntervalType(types.Type):
    def __init__(self):
        super().__init__(name="Interval")
INTERVAL = IntervalType()
@extending.type_callable(Interval)
def type_of_interval(context):
    return lambda low, high: INTERVAL if isinstance(low, types.Float) else None
@extending.register_model(IntervalType)
class IntervalModel(extending.core_models.StructModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, [("low", types.float64), ("high", types.float64)])
extending.make_attribute_wrapper(IntervalType, "low", "low")
extending.make_attribute_wrapper(IntervalType, "high", "high")
@extending.lower_builtin(Interval, types.Float, types.Float)
def make_interval(context, builder, signature, arguments):
    interval = cgutils.create_struct_proxy(signature.return_type)(context, builder)
    interval.low, interval.high = arguments
    return interval._getvalue()
@registry.register_attr
class IntervalAttributes(AttributeTemplate):
    key = IntervalType
    def resolve_width(self, kind):
        return types.float64
@lower_attr(IntervalType, "width")
def width_of_interval(context, builder, kind, value):
    return builder.fsub(builder.extract_value(value, 1), builder.extract_value(value, 0))
@extending.overload_method(IntervalType, "shifted", target="cuda")
def shifted(self, by):
    return lambda self, by: Interval(self.low + by, self.high + by)
@extending.overload_attribute(IntervalType, "middle", target="cuda")
def middle(self):
    return lambda self: (self.low + self.high) / 2
@extending.overload_method(types.Array, "first_plus", target="cuda")
def first_plus(array, more=10):
    return lambda array, more=10: array[0] + more
@cuda.jit(device=True)
def around(one, other):
    return Interval(min(one.low, other.low), max(one.high, other.high))
@cuda.jit
def intervals(ends, out):
    i = cuda.grid(1)
    first = Interval(ends[0], ends[1] + i)
    both = around(first, first.shifted(1.0))
    out[i, 0], out[i, 1] = first.width, both.width
    out[i, 2], out[i, 3] = both.middle, ends.first_plus(more=2) + ends.first_plus()
out = np.zeros((4, 4))
intervals[1, 4](np.array([1.5, 2.5]), out)
assert (out.T == [[1, 2, 3, 4], [2, 3, 4, 5], [2.5, 3, 3.5, 4], [15] * 4]).all(), out
class Wrapped:
    """An argument that an extension of a kernel takes apart."""
    def __init__(self, array):
        self.array = array
@extending.typeof_impl.register(Wrapped)
def type_of_wrapped(value, context):
    return types.Array(types.float64, 1, "C")
class Unwraps:
    def prepare_args(self, kind, value, stream, retr):
        if not isinstance(value, Wrapped):
            return kind, value
        there = cuda.to_device(value.array, stream)
        retr.append(lambda: there.copy_to_host(value.array, stream))
        return kind, there
@cuda.jit(extensions=[Unwraps()])
def double(values):
    values[cuda.grid(1)] *= 2
wrapped = Wrapped(np.ones(8))
double[1, 8](wrapped)
assert wrapped.array.tolist() == [2] * 8
