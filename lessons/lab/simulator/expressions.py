"""Evaluate expressions: each value is a number for all lanes, or a vector with one for each."""

import ast
import builtins
import math
import types

import numpy as np
from numba import cuda

from lessons.lab import names
from lessons.lab.names import CudaName
from lessons.lab.numba_types import (
    FLOAT32,
    FLOAT64,
    MATH,
    TypeProblem,
    binary,
    call_math,
    common_dtype,
    compare,
    convert,
    dtype_of_type,
    extreme,
    is_number,
    truth,
    typed,
    unary,
)
from lessons.lab.simulator import cuda_functions as cuda_names
from lessons.lab.simulator.memory import Memory, View, row_major_strides
from lessons.lab.simulator.teams import Unsupported
from lessons.lab.source import MISSING, python_function, source_of_function

# Functions of NumPy that work on single numbers and have a twin in `math`.
SCALAR_UFUNCS = {
    "sqrt": math.sqrt, "exp": math.exp, "log": math.log, "sin": math.sin, "cos": math.cos,
    "tanh": math.tanh, "floor": math.floor, "ceil": math.ceil, "abs": abs, "fabs": math.fabs,
}  # fmt: skip


class Expressions:
    """The part of a `Lockstep` that evaluates expressions."""

    def evaluate(self, node, mask):
        method = self.EXPRESSIONS.get(type(node))
        if method is None:
            raise Unsupported(node, f"`{ast.unparse(node)}` cannot be compiled for a GPU")
        try:
            return method(self, node, mask)
        except TypeProblem as problem:
            raise Unsupported(node, f"`{ast.unparse(node)}`: {problem}") from None

    def number(self, node, mask):
        value = self.evaluate(node, mask)
        if not is_number(value):
            raise Unsupported(node, f"`{ast.unparse(node)}` must be a number here")
        return value

    # ------------------------------------------------------------ names and constants

    def constant(self, node, mask):
        if isinstance(node.value, (bool, int, float)):
            return typed(node.value)
        return node.value  # a string names a dtype; None; Ellipsis

    def name(self, node, mask):
        variable = self.frame.variables.get(node.id)
        if variable is not None:
            value, defined, _ = variable
            if defined is not None:
                self.check_defined(node, mask, defined)
            return value
        if node.id in self.frame.locals:
            if mask.any():
                raise Unsupported(node, f"`{node.id}` is used before anything is assigned to it")
            return np.float32(0)
        key = (self.source.function, node.id)
        if key not in self.outside:
            self.outside[key] = self.from_outside(node, self.source.lookup(node.id), node.id)
        return self.outside[key]

    def check_defined(self, node, mask, defined):
        missing = mask & ~defined
        if missing.any():
            position = int(np.flatnonzero(missing)[0])
            self.add_finding(
                "uninitialised",
                node,
                f"`{node.id}` has no value in {self.name_position(position)}"
                f"{self.and_others(missing)}: it is assigned only on another path; give it a value "
                "before the branch",
                key=node.id,
            )

    def from_outside(self, node, value, name):
        """A module-level or closure value as the kernel sees it."""
        if value is MISSING:
            raise Unsupported(node, f"the name `{name}` is not defined")
        if isinstance(value, (bool, int, float, np.generic)):
            return typed(value)
        if isinstance(value, np.ndarray):
            return self.constant_view(name, value)
        if isinstance(value, tuple):
            items = [self.from_outside(node, item, name) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        found = names.recognise(value)
        if found is not None:
            return found
        if dtype_of_type(value) is not None and not isinstance(value, str):
            return value
        if isinstance(value, (types.ModuleType, str)) or callable(value) or value is None:
            return value
        raise Unsupported(
            node,
            f"`{name}` is a Python object ({type(value).__name__}); a kernel can use numbers, "
            "tuples, arrays and functions from outside: bind what you need to a module-level name, "
            f"such as TILE = {name}.tile",
        )

    def constant_view(self, name, array):
        flat = np.ascontiguousarray(array).reshape(-1)
        memory = Memory(name, "constant", flat, flat.size, array.shape)
        return View(memory, 0, array.shape, row_major_strides(array.shape))

    def attribute(self, node, mask):
        value = self.evaluate(node.value, mask)
        if isinstance(value, CudaName):
            path = f"{value.path}.{node.attr}" if value.path else node.attr
            number = cuda_names.value_of(self, path)
            if number is None and not names.is_known(path):
                raise Unsupported(node, names.unknown(path))
            return CudaName(path) if number is None else number
        if isinstance(value, View):
            return self.array_attribute(node, value)
        if isinstance(value, tuple) and node.attr in getattr(value, "_fields", ()):
            return getattr(value, node.attr)
        if isinstance(value, types.ModuleType):
            if not hasattr(value, node.attr):
                raise Unsupported(node, f"{value.__name__} has no `{node.attr}`")
            return self.from_outside(node, getattr(value, node.attr), ast.unparse(node))
        raise Unsupported(
            node, f"`{ast.unparse(node)}`: a kernel cannot look up `.{node.attr}` there"
        )

    def array_attribute(self, node, view):
        if node.attr == "shape":
            return tuple(np.int64(n) for n in view.shape)
        if node.attr == "strides":
            return tuple(np.int64(s * view.dtype.itemsize) for s in view.strides)
        if node.attr == "size":
            return np.int64(view.size)
        if node.attr == "ndim":
            return np.int64(len(view.shape))
        if node.attr == "itemsize":
            return np.int64(view.dtype.itemsize)
        if node.attr == "dtype":
            return view.dtype
        if node.attr == "T":
            return View(view.memory, view.offset, view.shape[::-1], view.strides[::-1])
        raise Unsupported(
            node,
            f"`{ast.unparse(node)}`: whole-array operations of NumPy do not exist in a kernel; "
            "write a loop over the elements",
        )

    # ------------------------------------------------------------ arithmetic

    def operation(self, node, mask):
        left, right = self.number(node.left, mask), self.number(node.right, mask)
        result = binary(type(node.op).__name__, left, right)
        self.note_double(node, (node.left, node.right), (left, right), result.dtype)
        return result

    def unary_operation(self, node, mask):
        value = self.number(node.operand, mask)
        if isinstance(node.op, ast.Not):
            return ~truth(value)
        return unary(type(node.op).__name__, value)

    def comparison(self, node, mask):
        left = self.evaluate(node.left, mask)
        left_node = node.left
        result = np.bool_(True)
        for operator, right_node in zip(node.ops, node.comparators, strict=True):
            here = mask & result if np.ndim(result) else mask
            right = self.evaluate(right_node, here)
            result = result & self.compare_two(node, operator, left_node, right_node, left, right)
            left, left_node = right, right_node
        return result

    def compare_two(self, node, operator, left_node, right_node, left, right):
        if left is None or right is None:
            same = left is right
            return np.bool_(same if isinstance(operator, (ast.Is, ast.Eq)) else not same)
        if isinstance(left, tuple) and isinstance(right, tuple) and isinstance(operator, ast.Eq):
            equal = np.bool_(len(left) == len(right))
            for a, b in zip(left, right, strict=True):
                equal = equal & compare("Eq", a, b)
            return equal
        if not (is_number(left) and is_number(right)) or type(operator).__name__ in ("In", "NotIn"):
            raise Unsupported(node, f"`{ast.unparse(node)}` cannot be compared in a kernel")
        name = {"Is": "Eq", "IsNot": "NotEq"}.get(type(operator).__name__, type(operator).__name__)
        self.note_double(node, (left_node, right_node), (left, right), None)
        return compare(name, left, right)

    def boolean(self, node, mask):
        """`and`, `or`: the second operand is evaluated only in lanes that need it."""
        is_and = isinstance(node.op, ast.And)
        result = truth(self.number(node.values[0], mask))
        for operand in node.values[1:]:
            undecided = result if is_and else ~result
            if np.ndim(undecided) == 0:
                if not undecided:
                    return result
                result = truth(self.number(operand, mask))
                continue
            value = truth(self.number(operand, mask & undecided))
            result = result & value if is_and else result | value
        return result

    def choice(self, node, mask):
        condition = truth(self.number(node.test, mask))
        if np.ndim(condition) == 0:
            return self.evaluate(node.body if condition else node.orelse, mask)
        yes = self.evaluate(node.body, mask & condition)
        no = self.evaluate(node.orelse, mask & ~condition)
        return self.select(node, condition, yes, no)

    def select(self, node, condition, yes, no):
        """One of two values in each lane."""
        if isinstance(yes, tuple) and isinstance(no, tuple) and len(yes) == len(no):
            return tuple(self.select(node, condition, a, b) for a, b in zip(yes, no, strict=True))
        if not (is_number(yes) and is_number(no)):
            if yes is no:
                return yes
            raise Unsupported(
                node,
                "this name stands for different kinds of things on two paths, such as an array "
                "and a number; Numba needs one type for each name",
            )
        dtype = common_dtype([yes.dtype, no.dtype])
        if dtype == FLOAT64 and FLOAT32 in (yes.dtype, no.dtype):
            self.add_finding(
                "slow",
                node,
                f"this is {yes.dtype} on one path and {no.dtype} on the other, so Numba "
                "makes it a double (float64); write float32(...) on both",
                key="path",
            )
        return np.where(condition, convert(yes, dtype), convert(no, dtype))

    def tuple_of(self, node, mask):
        return tuple(self.evaluate(item, mask) for item in node.elts)

    def walrus(self, node, mask):
        value = self.evaluate(node.value, mask)
        self.bind(node.target.id, value, mask, node)
        return value

    # ------------------------------------------------------------ doubles that nobody asked for

    def note_double(self, node, parts, values, result):
        """A finding if an operation is computed in double precision."""
        dtypes = [value.dtype for value in values]
        if result is None:
            if not self.compares_doubles(parts, values):
                return
        elif result != FLOAT64 and FLOAT64 not in dtypes:
            return
        if self.is_constant(node):
            return
        self.add_finding("slow", node, self.explain_double(parts, dtypes), key="double")

    def compares_doubles(self, parts, values):
        """Whether a comparison is done in double precision.

        The compiler turns `x > 0.5` into a float32 comparison by itself, because 0.5 is exact in
        float32; it cannot do so for 0.1, nor for a number that it does not know.
        """
        dtypes = [value.dtype for value in values]
        if FLOAT64 not in dtypes and (FLOAT32 not in dtypes or dtypes[0] == dtypes[-1]):
            return False
        for part, value in zip(parts, values, strict=True):
            if value.dtype != FLOAT32 and not (
                self.is_constant(part) and np.float32(value) == value
            ):
                return True
        return False

    def explain_double(self, parts, dtypes):
        for part, dtype in zip(parts, dtypes, strict=True):
            if dtype == FLOAT64 and self.is_constant(part):
                text = ast.unparse(part)
                return f"{text} is a double (float64), and so is the result: write float32({text})"
        kinds = [dtype.kind for dtype in dtypes]
        if all(kind in "iub" for kind in kinds):
            text = f"float32({ast.unparse(parts[0])}) / float32({ast.unparse(parts[-1])})"
            return f"dividing two whole numbers gives a double (float64): write {text}"
        if FLOAT64 not in dtypes:
            whole = parts[0] if kinds[0] in "iub" else parts[-1]
            text = ast.unparse(whole)
            extra = ""
            if isinstance(whole, ast.Name) and whole.id in self.frame.variables:
                extra = f" (since line {self.frame.variables[whole.id][2]})"
            return (
                f"`{text}` is a whole number{extra}; with a float32 it makes a double: "
                f"write float32({text})"
            )
        text = ast.unparse(parts[dtypes.index(FLOAT64)])
        extra = ""
        if text in self.frame.variables:
            extra = f" since line {self.frame.variables[text][2]}"
        return (
            f"`{text}` is a double (float64){extra}, so this is computed in double precision; "
            "make it a float32"
        )

    def is_constant(self, node):
        """Whether the compiler knows the value: literals, outside names of numbers, sums of them."""
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Name):
            if node.id in self.frame.locals:
                return False
            value = self.source.lookup(node.id)
            return isinstance(value, (int, float, np.generic)) or callable(value)
        if isinstance(node, ast.Attribute):
            value = self.source.lookup(node.value.id) if isinstance(node.value, ast.Name) else None
            return isinstance(value, types.ModuleType) and value is not cuda
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)):
            return all(
                map(
                    self.is_constant,
                    (n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)),
                )
            )
        if isinstance(node, ast.Call):
            return self.is_constant(node.func) and all(map(self.is_constant, node.args))
        return False

    # ------------------------------------------------------------ arrays

    def subscript(self, node, mask):
        value = self.evaluate(node.value, mask)
        if isinstance(value, tuple):
            index = self.evaluate(node.slice, mask)
            if np.ndim(index) != 0:
                raise Unsupported(node, "a tuple's index must be the same number in all threads")
            if not -len(value) <= index < len(value):
                raise Unsupported(node, f"a tuple of {len(value)} has no element {index}")
            return value[int(index)]
        view, indices = self.view_and_indices(node, value, mask)
        if indices is None:
            return view
        return self.load(view, indices, mask, node)

    def view_and_indices(self, node, value, mask):
        """(view, list of numbers); with a slice: (smaller view, None)."""
        if not isinstance(value, View):
            raise Unsupported(node, f"`{ast.unparse(node.value)}` is not an array")
        if any(isinstance(part, ast.Slice) for part in index_parts(node.slice)):
            return self.slice(node, value, mask), None
        index = self.evaluate(node.slice, mask)
        indices = list(index) if isinstance(index, tuple) else [index]
        for part in indices:
            if not is_number(part):
                raise Unsupported(
                    node, f"`{ast.unparse(node.slice)}` cannot index an array in a kernel"
                )
        if len(indices) > len(value.shape):
            raise Unsupported(
                node, f"{value.memory.name} has {len(value.shape)} dimensions, not {len(indices)}"
            )
        self.note_signed(node, value, indices)
        return value, indices

    def note_signed(self, node, view, indices):
        """Remember the first global access by a signed index that differs between threads."""
        if self.launch.signed_index is None and view.memory.space == "global":
            if any(np.ndim(i) and i.dtype.kind == "i" for i in indices):
                self.launch.signed_index = (node.lineno, ast.unparse(node))

    def slice(self, node, view, mask):
        parts = index_parts(node.slice)
        offset, shape, strides = view.offset, [], []
        for axis, (length, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
            part = parts[axis] if axis < len(parts) else ast.Slice()
            if not isinstance(part, ast.Slice):
                element, _ = self.locate(
                    View(view.memory, offset, (length,), (stride,)),
                    [self.number(part, mask)],
                    mask,
                    node,
                )
                offset = element
                continue
            if part.step is not None:
                raise Unsupported(node, "the checked simulator knows slices without a step only")
            begin = self.slice_end(part.lower, 0, length, mask)
            end = self.slice_end(part.upper, length, length, mask)
            offset = offset + begin * stride
            shape.append(
                np.maximum(end - begin, 0) if np.ndim(end - begin) else max(0, int(end - begin))
            )
            strides.append(stride)
        if any(np.ndim(length) for length in shape):
            raise Unsupported(
                node, "the checked simulator needs slices of the same length in all threads"
            )
        return View(view.memory, offset, tuple(shape), tuple(strides))

    def slice_end(self, node, default, length, mask):
        if node is None:
            return np.int64(default)
        value = convert(self.number(node, mask), np.dtype(np.int64))
        return np.clip(np.where(value < 0, value + length, value), 0, length)[()]

    # ------------------------------------------------------------ calls

    def call(self, node, mask):
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            raise Unsupported(
                node, "a call with *arguments cannot be compiled here; write them out"
            )
        function = self.evaluate(node.func, mask)
        arguments = [self.evaluate(argument, mask) for argument in node.args]
        keywords = {k.arg: self.evaluate(k.value, mask) for k in node.keywords}
        if isinstance(function, CudaName):
            arguments += cuda_names.in_order(node, function.path, len(arguments), keywords)
            return cuda_names.call(self, node, function.path, arguments, mask)
        dtype = None if isinstance(function, str) else dtype_of_type(function)
        if dtype is not None:
            return self.cast(node, function, dtype, arguments)
        twin = getattr(function, "emulation", None)
        if callable(twin):
            return self.call_twin(node, twin, arguments, mask)
        return self.call_python(node, function, arguments, keywords, mask)

    def cast(self, node, function, dtype, arguments):
        if len(arguments) != 1 or not is_number(arguments[0]):
            raise Unsupported(node, f"`{ast.unparse(node)}` needs one number")
        value = arguments[0]
        if function is int and value.dtype.kind in "iu":
            return value
        if function is float and value.dtype.kind == "f":
            return value
        return convert(value, dtype)

    def call_python(self, node, function, arguments, keywords, mask):
        name = ast.unparse(node.func)
        if isinstance(function, types.ModuleType) or not callable(function):
            raise Unsupported(node, f"`{name}` is not a function")
        if type(function) is np.ufunc or getattr(function, "__module__", "").startswith("numpy"):
            return self.call_numpy(node, function, arguments)
        if function in MATH and all(map(is_number, arguments)):
            result = call_math(function, arguments)
            self.note_double(node, node.args, arguments, result.dtype)
            return result
        if getattr(builtins, getattr(function, "__name__", ""), None) is function:
            return self.call_builtin(node, function, arguments, mask)
        if isinstance(function, type) and hasattr(function, "_fields"):
            return function(*arguments, **keywords)
        if isinstance(function, type):
            raise Unsupported(node, f"`{name}`: objects of classes cannot be made in a kernel")
        try:
            source = source_of_function(python_function(function))
        except Exception:
            raise Unsupported(node, f"`{name}` cannot be called from a kernel") from None
        return self.call_function(node, source, arguments, keywords, mask)

    def call_numpy(self, node, function, arguments):
        name = getattr(function, "__name__", "")
        if name in SCALAR_UFUNCS and len(arguments) == 1 and is_number(arguments[0]):
            self.add_finding(
                "compile",
                node,
                f"`{ast.unparse(node.func)}` is a NumPy call, and kernels compile without "
                f"NumPy: write math.{name}"
                if name != "abs"
                else "write abs(...)",
            )
            return call_math(SCALAR_UFUNCS[name], arguments)
        raise Unsupported(
            node,
            f"`{ast.unparse(node.func)}` is a NumPy call: it makes or works on whole arrays, "
            "which a GPU thread cannot; use a loop, and cuda.local.array for small arrays",
        )

    def call_builtin(self, node, function, arguments, mask):
        name = function.__name__
        if function in (min, max) and len(arguments) == 1 and isinstance(arguments[0], tuple):
            arguments = list(arguments[0])
        if function in (min, max) and len(arguments) > 1 and all(map(is_number, arguments)):
            self.note_double(
                node, node.args[:2], arguments[:2], common_dtype([a.dtype for a in arguments])
            )
            return extreme(function, arguments)
        if function is len and len(arguments) == 1 and isinstance(arguments[0], (View, tuple)):
            value = arguments[0]
            return np.int64(value.shape[0] if isinstance(value, View) else len(value))
        if function is round and len(arguments) == 1:
            return np.round(arguments[0]).astype(np.int64)
        if function is pow and len(arguments) == 2:
            return binary("Pow", *arguments)
        if function is range:
            raise Unsupported(node, "range can only stand in a for loop")
        if function is print:
            return self.print(arguments, mask)
        raise Unsupported(node, f"`{name}` cannot be called in a kernel")

    def print(self, arguments, mask):
        for position in np.flatnonzero(mask):
            print(*(a[position] if type(a) is np.ndarray else a for a in arguments))

    def call_twin(self, node, twin, arguments, mask):
        """A raw instruction: its twin in NumPy gets (warps, 32) arrays in lane order."""
        rows = [
            cuda_names.in_lane_order(self, a) if is_number(a) else WarpArray(self, a, mask, node)
            for a in arguments
        ]
        result = twin(*rows)
        if result is None:
            return None
        back = lambda table: np.asarray(table)[self.team.row, self.team.lane_in_warp]  # noqa: E731
        return tuple(map(back, result)) if isinstance(result, tuple) else back(result)

    EXPRESSIONS = {
        ast.Constant: constant, ast.Name: name, ast.Attribute: attribute, ast.BinOp: operation,
        ast.UnaryOp: unary_operation, ast.Compare: comparison, ast.BoolOp: boolean,
        ast.IfExp: choice, ast.Tuple: tuple_of, ast.Subscript: subscript, ast.Call: call,
        ast.NamedExpr: walrus,
    }  # fmt: skip


class WarpArray:
    """An array as a twin sees it: indexed with (warps, 32) arrays, checked like any access."""

    def __init__(self, machine, view, mask, node):
        self.machine, self.view, self.mask, self.node = machine, view, mask, node

    def indices(self, index):
        parts = index if isinstance(index, tuple) else (index,)
        team = self.machine.team
        return [
            np.broadcast_to(p, (len(team.lanes) // 32, 32))[team.row, team.lane_in_warp]
            for p in parts
        ]

    def __getitem__(self, index):
        value = self.machine.load(self.view, self.indices(index), self.mask, self.node)
        return cuda_names.in_lane_order(self.machine, value)

    def __setitem__(self, index, value):
        team = self.machine.team
        value = np.broadcast_to(value, (len(team.lanes) // 32, 32))[team.row, team.lane_in_warp]
        self.machine.store(self.view, self.indices(index), value, self.mask, self.node)

    def add(self, index, value):
        team = self.machine.team
        value = np.broadcast_to(value, (len(team.lanes) // 32, 32))[team.row, team.lane_in_warp]
        self.change(index, value)

    def change(self, index, value):
        """Add atomically. Returns what was there before."""
        add = cuda_names.ATOMICS["add"]
        indices = self.indices(index)
        return self.machine.change(self.view, indices, value, add, self.mask, self.node)

    def release(self, index, value):
        """Add atomically; whoever acquires what was added knows what this block did before."""
        self.machine.launch.clock.release(self.view.memory, self.machine.team.lanes[self.mask])
        self.add(index, value)

    def acquire(self, index):
        """Read atomically what others release."""
        value = self.change(index, self.view.dtype.type(0))
        self.machine.launch.clock.acquire(self.view.memory, self.machine.team.lanes[self.mask])
        return None if value is None else cuda_names.in_lane_order(self.machine, value)


def index_parts(node):
    return node.elts if isinstance(node, ast.Tuple) else [node]
