"""Kernels from a grammar: the text of one for each seed, right or with one mistake in it.

A kernel takes arrays `a` (float32), `b` (int32), `out` (float64), `counts` (int32), a number `k`.
Whatever it computes is defined: no division of whole numbers by 0, no index outside an array, no
shift by more than 31 bits, no data race.
"""

import random
from typing import NamedTuple

HEADER = """import math
import numpy as np
from numba import cuda, float32, float64, int32, int64, uint32

TILE = 32
SIZES = (3, 5, 7)
TABLE = np.arange(8, dtype=np.float32)
settings = object()


def undecorated(x):
    return x * 2


POINT = np.dtype([("x", np.float32), ("n", np.int32), ("corner", np.float64, 2)], align=True)


@cuda.jit(device=True)
def twice(x):
    return x * 2


@cuda.jit(device=True)
def pick(x, y, flag):
    if flag:
        return x
    return y


@cuda.jit(device=True)
def split(x):
    return x + 1, x - 1
"""
# Statements that Numba refuses, each in its own way.
# What comes of each is used where Numba would else drop it, unread and unseen.
MISTAKES = (
    "z = undefined_name + 1", "cuda.syncthread()", "z = undecorated(k)", "z = twice(k, k)",
    "z = twice()", "out[i, 0] = 1", "out[0.5] = 1", "out[i / 2] = 1", "z = [k, k]; out[i] = z[0]",
    "z = {1: k}", "z = {1, 2}", "z = settings.tile", "z = np.zeros(3)", "z = np.sqrt(a[i])",
    "z = math.comb(5, 2)", "z = a if k > 2 else 1", "z = k; out[i] = z.real.foo",
    "z = cuda.shared.array(k, float32)", "z = cuda.shared.array(TILE + 1, float32)",
    "cuda.atomic.inc(counts, 0, 3)", "cuda.atomic.and_(a, 0, 1)", "cuda.atomic.add(a, 0)",
    "return k", "z = a.foo", "z = f'{k}'", "import math", "z = sum([k, k])",
    "z = cuda.shfl_sync(-1, uint32(3), 0)", "z = open('x')", "z = (1, 2)[3]",
    "x, y = 1, 2, 3; out[i] = y",
    "z = ~a[i]", "z = a[i] << 1", "z = 'text'; out[i] = z", "z = cuda.threadIdx.w",
    "z = int32", "raise ValueError(k)", "z = 1 << 70", "del k", "z = id(k)", "TABLE[0] = 1",
    "z = cuda.syncthreads_count(k > 1)", "out = out + 1; out[i] = 0", "z = cuda.grid(4)",
)  # fmt: skip


# From this seed on, kernels have local arrays, complex numbers, tuples and shuffles, too. Those
# before stay as they were when their counts were saved.
LARGER_SINCE = 10_000
# And from this one on, what Numba's documentation calls its subset of Python: records, closures,
# slices, small types, calls within calls as limits of loops, `else` of loops, early `continue`.
WIDER_SINCE = 20_000
SMALL = ("np.int8", "np.uint8", "np.int16", "np.uint16", "np.uint32", "np.bool_")


class Case(NamedTuple):
    """text: of a function `kernel`. mistake: the line in it that is wrong, or None."""

    seed: int
    text: str
    mistake: str | None


def case(seed: int) -> Case:
    return Writer(seed).case()


class Writer:
    """Writes one kernel, with a random number generator of its own."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.integers = ["i", "k", "b[i]"]
        self.floats = ["a[i]"]
        self.names = 0
        # One for all: a sum of some and the largest of others would depend on who comes first.
        self.atomic = self.random.choice(["add", "max", "min"])
        self.larger = seed >= LARGER_SINCE
        self.wider = seed >= WIDER_SINCE

    def case(self) -> Case:
        mistake = self.random.choice(MISTAKES) if self.random.random() < 0.25 else None
        head = [*self.shared(), *self.together()] if self.larger else []
        body = self.block(2, 2 + self.random.randrange(4))
        body += [f"out[i] += {self.number(2)}", f"counts[i] += {self.integer(2)}"]
        if mistake:
            # At the top, or on a path that nobody takes.
            wrong = [mistake] if self.random.random() < 0.5 else ["if k > 1000:", f"    {mistake}"]
            place = self.random.randrange(len(body))
            while body[place].startswith((" ", "else", "elif")):
                place -= 1
            body[place:place] = wrong
        if not self.larger:
            head = self.shared()
        lines = ["i = cuda.grid(1)", *head, "if i < out.shape[0]:"]
        lines += [f"    {line}" for line in body]
        text = "@cuda.jit\ndef kernel(a, b, out, counts, k):\n" + "".join(
            f"    {line}\n" for line in lines
        )
        return Case(self.seed, text, mistake)

    # ------------------------------------------------------------ statements

    def shared(self) -> list[str]:
        """A tile that threads fill, a barrier, and a value from the tile."""
        if self.random.random() < 0.6:
            return []
        self.floats.append("neighbour")
        shift = self.random.randrange(1, 31)
        return [
            "tile = cuda.shared.array(TILE, float32)",
            "tile[cuda.threadIdx.x] = a[i] if i < a.shape[0] else float32(0)",
            "cuda.syncthreads()",
            f"neighbour = tile[(cuda.threadIdx.x + {shift}) % TILE]",
        ]

    def block(self, depth: int, length: int) -> list[str]:
        lines = []
        for _ in range(length):
            lines += self.statement(depth)
        return lines

    def statement(self, depth: int) -> list[str]:
        kinds = ["integer", "float", "store", "unpack", "atomic", "extra"]
        if self.larger:
            kinds += ["local", "complex", "tuple"]
        if self.wider:
            kinds += ["record", "closure", "slice", "small", "nested_tuple", "rounded"]
        if depth:
            kinds += ["branch", "loop", "search", "choice"]
        if depth and self.wider:
            kinds += ["computed_range", "else_of_loop", "early_continue", "several"]
        return getattr(self, f"write_{self.random.choice(kinds)}")(depth)

    def new_name(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def write_integer(self, depth: int) -> list[str]:
        line = f"{(name := self.new_name())} = {self.integer(2)}"
        self.integers.append(name)
        return [line]

    def write_float(self, depth: int) -> list[str]:
        line = f"{(name := self.new_name())} = {self.floating(2)}"
        self.floats.append(name)
        return [line]

    def write_store(self, depth: int) -> list[str]:
        target = self.random.choice(["out[i]", "out[i]", "a[i]"])
        operator = self.random.choice(["=", "+=", "-=", "*="])
        value = self.floating(2) if target == "a[i]" else self.number(2)
        return [f"{target} {operator} {self.bounded(value)}"]

    def write_unpack(self, depth: int) -> list[str]:
        one, other = self.new_name(), self.new_name()
        pair = self.random.choice(
            [f"split({self.integer(1)})", f"{self.integer(1)}, {self.integer(1)}",
             f"divmod({self.integer(1)}, 7)"]
        )  # fmt: skip
        self.integers += [one, other]
        return [f"{one}, {other} = {pair}"]

    def write_atomic(self, depth: int) -> list[str]:
        return [f"cuda.atomic.{self.atomic}(counts, counts.shape[0] - 1, int32({self.integer(1)}))"]

    def write_extra(self, depth: int) -> list[str]:
        name = self.new_name()
        statement, kind = self.random.choice([
            (f"{name} = len(SIZES) + a.shape[0] + out.ndim", "integer"),
            (f"{name} = SIZES[{self.random.randrange(3)}] * TILE", "integer"),
            (f"{name} = TABLE[{self.index(8)}]", "float"),
            (f"{name} = float32({self.number(1)})", "float"),
            (f"{name} = cuda.popc(uint32({self.integer(1)} & 255))", "integer"),
            (f"{name} = int64(cuda.threadIdx.x) + cuda.blockIdx.x * 3", "integer"),
            (f"{name} = int(math.fmod({self.bounded(self.floating(1))}, 50.0))", "integer"),
        ])  # fmt: skip
        (self.integers if kind == "integer" else self.floats).append(name)
        return [statement]

    def write_local(self, depth: int) -> list[str]:
        """An array of the thread's own: filled, changed, read."""
        array, step = self.new_name(), self.new_name()
        lines = [f"{array} = cuda.local.array(4, float64)", f"for {step} in range(4):"]
        lines += [f"    {array}[{step}] = {self.bounded(self.number(1))} + {step}"]
        lines += [f"{array}[{self.index(4)}] *= {self.bounded(self.floating(1))}"]
        self.floats.append(f"{array}[{self.index(4)}]")
        return lines

    def write_complex(self, depth: int) -> list[str]:
        name = self.new_name()
        one, other = self.bounded(self.floating(1)), self.bounded(self.number(1))
        lines = [f"{name} = complex({one}, {other})"]
        lines += [f"{name} = {name} * {self.random.choice(COMPLEX)} + {self.floating(0)}"]
        self.floats += [f"{name}.real", f"abs({name})", f"{name}.conjugate().imag"]
        return lines

    def write_tuple(self, depth: int) -> list[str]:
        """Three numbers of one type, and one of them by an index that varies."""
        name = self.new_name()
        items = ", ".join(f"float64({self.number(1)})" for _ in range(3))
        self.floats.append(f"{name}[{self.index(3)}]")
        return [f"{name} = ({items})"]

    # ------------------------------------------------------------ the wider grammar

    def write_record(self, depth: int) -> list[str]:
        """Records of the thread's own; a field of one is an array."""
        name = self.new_name()
        record = f"{name}[{self.random.choice(('1', 'i % 2'))}]"
        lines = [
            f"{name} = cuda.local.array(2, POINT)",
            f"{record}.x = {self.bounded(self.floating(1))}",
            f"{record}['n'] = {self.index(99)}",
            f"{record}.corner[1] = {record}.x * {self.bounded(self.number(1))}",
        ]
        self.floats += [f"{record}.x", f"{record}['corner'][1]"]
        self.integers.append(f"{record}.n")
        return lines

    def write_closure(self, depth: int) -> list[str]:
        """A function within the kernel, which sees a variable of it."""
        name, free, result = self.new_name(), self.new_name(), self.new_name()
        body = self.random.choice(
            [f"x + {free}", f"x * {free} if x > {free} else {free}", f"min(x, {free}, 7)"]
        )
        if self.random.random() < 0.5:
            head = [f"{name} = lambda x: {body}"]
        else:
            head = [f"def {name}(x, y=2):", f"    return ({body}) * y"]
        value = f"float64({name}({self.bounded(self.floating(1))}))"
        lines = [f"{free} = {self.bounded(self.floating(1))}", *head, f"{result} = {value}"]
        self.floats.append(result)
        return lines

    def write_slice(self, depth: int) -> list[str]:
        """A part of an array of the thread's own, and of a tuple."""
        array, part, step = self.new_name(), self.new_name(), self.new_name()
        cut = self.random.choice(("1:5", "::2", "2:", ":-2", "-4:", "::-1", "5:1:-2"))
        lines = [
            f"{array} = cuda.local.array(8, float64)",
            f"for {step} in range(len({array})):",
            f"    {array}[{step}] = {step} + {self.bounded(self.number(1))}",
            f"{part} = {array}[{cut}]",
            f"{part}[{self.index(2)}] += {self.bounded(self.floating(1))}",
        ]
        self.floats.append(f"{part}[{self.random.choice(('0', '-1', '1'))}]")
        self.integers.append(f"len({part})")
        return lines

    def write_small(self, depth: int) -> list[str]:
        """Numbers of few bits, and what becomes of two that meet."""
        one, other, kind = self.new_name(), self.new_name(), self.random.choice(SMALL)
        operator = self.random.choice(("+", "-", "*", "&", "|"))
        if "bool" in kind:
            operator = "&"
        lines = [f"{one} = {kind}({self.index(100)})", f"{other} = {one} {operator} {kind}(3)"]
        self.integers += [f"int64({one})", f"int64({other})"]
        return lines

    def write_nested_tuple(self, depth: int) -> list[str]:
        """Tuples of tuples of other types, taken apart."""
        name, one, other, last = (self.new_name() for _ in range(4))
        lines = [f"{name} = (({self.integer(1)}, {self.floating(1)}), ({self.integer(1)},), k)"]
        lines += [f"({one}, {other}), {last} = {name}[0], {name}[1][0] + {name}[-1]"]
        self.integers += [one, last, f"len({name}[:2])"]
        self.floats.append(other)
        return lines

    def write_rounded(self, depth: int) -> list[str]:
        name = self.new_name()
        function = self.random.choice(("math.floor", "math.ceil", "math.trunc", "round"))
        lines = [f"{name} = int({function}({self.bounded(self.floating(2))}))"]
        self.integers.append(name)
        return lines

    def small_range(self) -> str:
        """Limits of few rounds, calls within calls, of whole numbers and of floats."""
        small, step = self.index(6), self.random.choice(("1", "2", "max(1, k // 3)"))
        value = f"abs({self.bounded(self.floating(1))}) / 250.0"
        return self.random.choice([
            f"math.ceil({small} / 2)", f"min({small}, math.ceil({value}))",
            f"min({small} * math.ceil({value}), 6), 6", f"math.floor({value}), 5, {step}",
            f"max(0, min({small}, len(SIZES))), TILE // 4, {step}", f"int(round({value}))",
            f"int32({small})", f"uint32({small})", f"min(k, {small} if i % 2 else 4)",
            f"np.int16({small}), 5", f"*(1, {small})",
        ])  # fmt: skip

    def write_computed_range(self, depth: int) -> list[str]:
        name, total = self.new_name(), self.new_name()
        self.integers.append(name)
        body = self.inside(depth)
        self.integers.remove(name)
        add = f"    {total} += {name} * {self.bounded(self.floating(1))}"
        lines = [f"{total} = 0.0", f"for {name} in range({self.small_range()}):", *body, add]
        self.floats.append(total)
        return lines

    def write_else_of_loop(self, depth: int) -> list[str]:
        name, found = self.new_name(), self.new_name()
        head = [f"for {name} in range({self.random.randrange(2, 6)}):"]
        last = []
        if self.random.random() < 0.5:
            head = [f"{name} = {self.index(4)}", f"while {name} < 6:"]
            last = [f"    {name} += 1"]
        body = [*self.inside(depth), f"    if {self.condition(1)}:", "        break"]
        otherwise = ["else:", f"    {found} = {self.integer(1)}"]
        self.integers.append(found)
        return [f"{found} = 1", *head, *body, *last, *otherwise]

    def write_early_continue(self, depth: int) -> list[str]:
        name, total = self.new_name(), self.new_name()
        step = [f"    {name} += 1", f"    if {self.condition(1)}:", "        continue"]
        body = self.inside(depth)
        lines = [f"{name}, {total} = {self.index(4)}, 0", f"while {name} < 7:", *step, *body]
        self.integers.append(total)
        return [*lines, f"    {total} += {name}"]

    def write_several(self, depth: int) -> list[str]:
        one, other = self.new_name(), self.new_name()
        total = self.new_name()
        many = self.random.choice(
            ["enumerate(SIZES)", "zip(SIZES, range(k))", "enumerate(range(4), 2)",
             "zip((1, 2), (3, 4))", "enumerate((k, i))"]
        )  # fmt: skip
        add = f"    {total} += {one} * 3 + ({other} if {self.condition(1)} else -{other})"
        lines = [f"{total} = 0", f"for {one}, {other} in {many}:", *self.inside(depth), add]
        self.integers.append(total)
        return lines

    def together(self) -> list[str]:
        """What all threads of a warp or of a block do together, before the guard."""
        if not self.larger or self.random.random() < 0.5:
            return []
        value = "(a[i] if i < a.shape[0] else float32(1))"
        lanes = "cuda.threadIdx.x % 32"
        lane, step = self.random.randrange(32), self.random.choice((1, 4, 16))
        line, kind = self.random.choice([
            (f"met = cuda.shfl_xor_sync(0xffffffff, {value}, {step})", "f"),
            (f"met = cuda.shfl_down_sync(0xffffffff, {value}, {lane})", "f"),
            (f"met = cuda.shfl_sync(0xffffffff, {value}, {lane})", "f"),
            (f"met = cuda.popc(cuda.ballot_sync(0xffffffff, {value} > 0.5))", "i"),
            (f"met = cuda.syncthreads_count(1 if {lanes} > {lane} else 0)", "i"),
        ])  # fmt: skip
        (self.floats if kind == "f" else self.integers).append("met")
        return [line]

    def inside(self, depth: int) -> list[str]:
        """A block whose variables nobody outside uses: they may have no value there."""
        integers, floats = list(self.integers), list(self.floats)
        lines = [f"    {line}" for line in self.block(depth - 1, 1 + self.random.randrange(2))]
        self.integers, self.floats = integers, floats
        return lines

    def write_branch(self, depth: int) -> list[str]:
        lines = [f"if {self.condition(1)}:", *self.inside(depth)]
        if self.random.random() < 0.5:
            lines += ["else:", *self.inside(depth)]
        return lines

    def write_loop(self, depth: int) -> list[str]:
        name = self.new_name()
        limit = self.random.choice(["3", f"{self.index(5)}", "len(SIZES)", "1, 8, 3", "4, 0, -1"])
        heads = [f"for {name} in range({limit}):", f"for {name} in SIZES:"]
        self.integers.append(name)
        body = self.inside(depth)
        self.integers.remove(name)
        if self.random.random() < 0.3:
            body += [f"    if {self.condition(1)}:", f"        {self.random.choice(EXITS)}"]
        return [self.random.choice(heads), *body]

    def write_search(self, depth: int) -> list[str]:
        name = self.new_name()
        step = self.random.randrange(1, 4)
        body = self.inside(depth)
        lines = [f"{name} = {self.index(9)}", f"while {name} < 9:", *body, f"    {name} += {step}"]
        self.integers.append(name)
        return lines

    def write_choice(self, depth: int) -> list[str]:
        name = self.new_name()
        lines = [f"{name} = {self.floating(1)}", f"if {self.condition(1)}:"]
        lines += [f"    {name} = {self.bounded(self.number(1))}"]
        self.floats.append(name)
        return lines

    # ------------------------------------------------------------ expressions

    def condition(self, depth: int) -> str:
        operator = self.random.choice(["<", "<=", ">", "!=", "=="])
        simple = f"{self.integer(1)} {operator} {self.integer(1)}"
        return self.random.choice([
            simple, f"{self.integer(1)} % 3 == 1", f"{self.floating(1)} > 0.5",
            f"not {simple}", f"{simple} and i % 2 == 0", f"i == 3 or {simple}",
            f"2 < i <= {simple}", f"{self.index(4)} in (1, 3)",
        ])  # fmt: skip

    def index(self, limit: int) -> str:
        return f"({self.integer(1)}) % {limit}"

    def number(self, depth: int) -> str:
        return self.random.choice([self.integer, self.floating])(depth)

    def integer(self, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.3:
            literals = [str(self.random.randrange(-9, 10)), "TILE"]
            return self.random.choice([*self.integers, *literals])
        one, other = self.integer(depth - 1), self.integer(depth - 1)
        return self.random.choice([
            f"({one} + {other})", f"({one} - {other})", f"({one} % 1000 * {other} % 100)",
            f"({one} // ({other} | 1))", f"({one} & {other})", f"({one} ^ {other})",
            f"({one} >> ({other} & 7))", f"(({one} & 255) << ({other} & 7))", f"twice({one} % 999)",
            f"min({one}, {other})", f"max({one}, {other}, 3)", f"abs({one})", f"-({one})",
            f"pick({one}, {other}, i > 3)", f"({one} if i % 2 else {other})",
            f"int32({one} & 65535)", f"(({one}) % 7) ** 2", f"int({one} > {other})",
        ])  # fmt: skip

    def floating(self, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.3:
            literals = [f"{self.random.uniform(-4, 4):.3f}", "float32(0.25)", "math.pi"]
            return self.random.choice([*self.floats, *literals])
        one, other = self.floating(depth - 1), self.floating(depth - 1)
        whole = self.integer(depth - 1)
        return self.random.choice([
            f"({one} + {other})", f"({one} - {other})", f"({one} * {other})", f"({one} * {whole})",
            f"({one} / (abs({other}) + 1))", f"math.sqrt(abs({one}))", f"math.sin({one})",
            f"math.exp(-abs({one}))", f"abs({one})", f"min({one}, {other})", f"max({one}, {other})",
            f"math.floor({one})", f"float32({one})", f"float64({one})", f"twice({one})",
            f"pick({one}, {other}, i > 3)", f"({one} if i % 3 else {other})",
            f"math.atan2({one}, 2.0)", f"({whole} / 4)", f"math.tanh({one})",
            f"math.fabs({one})", f"({one}) ** 2",
        ])  # fmt: skip

    def bounded(self, expression: str) -> str:
        """A value between -1000 and 1000, so that nothing grows without end."""
        return f"max(min({expression}, 1000.0), -1000.0)"


COMPLEX = ("(0.5 - 0.25j)", "1j", "complex(k, i)")
EXITS = ("break", "continue")
