"""From a tape to a Python file of two kernels: forward, and forward and back.

    tape, result, parameters, shapes  ->  source text; where each parameter lies

The idea: `kernels/derivatives/writer.py` begins a new kernel wherever a thread needs what others
have computed. Here a block takes eight samples through all steps, with a barrier at such places.
What goes into a product is kept in shared memory (`few_samples`), all other values in the registers
of the thread that needs them again (`tape_steps`). The way back computes forward first, and so
stores nothing but the loss and each block's sums of the weights' gradients.

What the weights and biases are is known by number in the text: they lie in one array, `parameters`,
one behind another. `turned` has a copy of it, with each matrix turned where it lies.
"""

import textwrap
from collections import Counter
from typing import NamedTuple

import numpy as np

from kernels.derivatives import tape as tapes
from kernels.derivatives.kernels_of_a_tape import (
    SCALE,
    gradient_of,
    names_among,
    require_inputs,
    text_of,
)
from kernels.derivatives.registry import FUNCTIONS, function_named
from kernels.derivatives.writer import backward_step, filled
from kernels.derivatives.written import shapes_of
from kernels.fused.few_samples import MOST_BLOCKS, SAMPLES, WIDTH, turned_places
from kernels.launch import blocks_for
from kernels.plumbing.errors import InputError

PRODUCTS = "matmul", "linear"
MOST_PRODUCTS = 10  # what goes into them is kept: so much fits into 48 KB
FULL_SUMS = 1 << 20  # numbers: if they are fewer, there may be more than MOST_BLOCKS blocks
HEAD = '''"""{title}: written by a machine, in blocks of eight samples, from this tape.

{tape}

In `parameters`, and turned in `turned`, begin
{places}

`{scale}` is the gradient of each number of {result}. Each block writes a row of `sums`.
"""

from numba import cuda, float32, int64

{imports}

KEPT = {products} * SAMPLES  # rows of what goes into products'''
KERNEL = '''
{decorator}
{signature}
    """Blocks of THREADS threads. A warp has a sample; a lane has its units lane and lane + 32."""
{declared}
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    samples, begins = {rows}.shape[0], cuda.blockIdx.x * SAMPLES
    for first in range(begins, samples, cuda.gridDim.x * SAMPLES):
        # Idle warps, beyond the batch, compute its last sample again, and write nothing.
        inside = first + warp < samples
        row = min(first + warp, samples - 1)
{body}
'''
NOTHING, NONE = "0, 0, 0", -1  # a matrix, and biases, that are not there
EACH, UNIT = "for j in range(SHARE):", "lane + j * WARP"
FORWARD = """\
# All values must be there; and the parts of the last product have been read.
cuda.syncthreads()
multiply(values, number * SAMPLES, own, parts)
# Asked for now, the next weights are there when they are needed.
load_weights(parameters, begin, rows, columns, own)
# A sum needs the parts of all warps.
cuda.syncthreads()""".splitlines()
BACK = """\
# All deltas must be there; and the parts have been read.
cuda.syncthreads()
multiply(deltas, 0, own, parts)
load_weights(turned, ahead, ahead_rows, ahead_columns, own)
add_gradients(values, top, deltas, sums, begin, rows, columns, first == begins)""".splitlines()
BIASES = """\
if biases >= 0:
    add_bias_gradients(deltas, sums, biases, columns, first == begins)""".splitlines()
END = """\
# The parts must be there; and nobody reads these deltas any more.
cuda.syncthreads()""".splitlines()
ALWAYS = {
    "kernels.config": ["WARP"],
    "kernels.launch": ["blocks_for", "on_gpu"],
    "kernels.fused.few_samples": [
        "DEPTH", "FOURS", "SAMPLES", "SHARE", "THREADS", "WARPS", "WIDTH", "add_bias_gradients",
        "add_gradients", "load_weights", "multiply",
    ],
    "kernels.fused.tape_steps": [
        "add_biases", "add_taken", "put", "read_sample", "take", "write_sample",
    ],
}  # fmt: skip


# What the kernels call their own.
RESERVED = set(
    "ahead ahead_columns ahead_rows backward begin begins biases columns deltas first forward "
    "inside j lane launch number own parameters parts products row rows samples scale sums top "
    "turned values warp".split()
)


class Unfit(InputError):
    """A tape that cannot be written in this form; the text says why."""


class FusedForm(NamedTuple):
    """source: a Python file with launch_forward and launch_backward. forward, backward: the names
    of their arguments, in order, as those of `writer.Written`; besides names of the tape there are
    parameters, turned and sums. places: parameter -> (begin, shape) in these, but for grids.
    """

    source: str
    forward: list
    backward: list
    places: dict

    @property
    def numbers(self):
        """How many numbers `parameters` has."""
        return sum(rows * columns for _, (rows, columns) in self.places.values())

    def turned_places(self):
        """(n,) int32: where each number of `parameters` has its copy in `turned`."""
        return turned_places([shape for _, shape in self.places.values()])

    def blocks(self, samples):
        """How many rows `sums` should have, for so many samples."""
        most = max(MOST_BLOCKS, FULL_SUMS // self.numbers)
        return min(blocks_for(samples, SAMPLES), most)


def write_fused(title, steps, result, parameters, shapes, keep=(), plan=None):
    """A `FusedForm`. Arguments as of `writer.write`, and shapes: name -> (rows, columns) of inputs
    and parameters. Raises `Unfit`, with the reason, for a tape that cannot be written so, and
    `InputError` for one that has no derivative.
    """
    steps = [tapes.Step(*step) for step in steps]
    for step in steps:
        require_inputs(step, function_named(step.function))
    plan = tapes.backward_steps(steps, result, parameters) if plan is None else plan
    plan = [backward_step(step, steps) for step in plan]
    shapes = shapes_of(steps, shapes)
    require_fit(steps, plan, parameters, shapes)
    dense = [name for name in parameters if name in parameters_of_products(steps)]
    ends = np.cumsum([np.prod(shapes[name]) for name in dense]).tolist()
    places = {
        name: (begin, tuple(shapes[name]))
        for name, begin in zip(dense, [0, *ends[:-1]], strict=True)
    }
    return Text(steps, plan, result, keep, shapes, places).form(title)


# ---------------------------------------------------------------- what fits


def is_product(step):
    return step.function in PRODUCTS


def parameters_of_products(steps):
    return {name for step in steps if is_product(step) for name in step.inputs[1:]}


def require_fit(steps, plan, parameters, shapes):
    """Raises `Unfit` with the reason why this tape cannot be written as two kernels."""
    products = list(filter(is_product, steps))
    if not 1 <= len(products) <= MOST_PRODUCTS:
        raise Unfit(f"it has {len(products)} products, and not 1 to {MOST_PRODUCTS}")
    computed = {step.output for step in steps}
    names = {name for step in steps for name in names_among(step.inputs)}
    for name in sorted((names | computed) & RESERVED):
        raise Unfit(f"{name} is what the kernels call something of their own")
    for name, times in Counter(name for step in products for name in step.inputs[1:]).items():
        if times > 1:
            raise Unfit(f"{name} is in {times} products, and each sum has a place for one")
        if name not in parameters:
            raise Unfit(f"{name} is in a product, and no parameter")
    batch = shapes[products[0].output][0]
    for step in steps:
        reason = reason_against(step, computed, parameters, shapes, batch)
        if reason:
            raise Unfit(f"{text_of(step)}: {reason}")
    changed = {
        name
        for step in plan
        for name, action in zip(step.inputs, step.actions, strict=True)
        if action
    }
    for name in parameters:
        if name not in changed:
            raise Unfit(f"the result does not depend on {name}")
    for step in plan:
        if function_named(step.function).whole and not is_product(step):
            require_scattering(step)


def reason_against(step, computed, parameters, shapes, batch):
    """Why this step cannot be fused, or nothing."""
    named = names_among(step.inputs)
    rows, width = shapes[step.output]
    if is_product(step):
        fan_in, fan_out = shapes[step.inputs[1]]
        if max(fan_in, fan_out) > WIDTH:
            return f"its matrix is {fan_in} x {fan_out}, and not {WIDTH} x {WIDTH} at most"
        samples = step.inputs[:1]
    elif FUNCTIONS[step.function].whole:
        if computed & set(named):
            return f"{step.function} needs a whole array that the tape computes"
        samples = ()
    else:
        samples = named
        if len({tuple(shapes[name]) for name in named}) > 1:
            return "its inputs have different shapes"
    for name in samples:
        if name in parameters:
            return f"{name} is a parameter, and neither weights nor biases of a product"
    if width > WIDTH or rows != batch:
        return f"its result has {rows} x {width} numbers, and not {batch} x {WIDTH} at most"
    return ""


def require_scattering(step):
    function = function_named(step.function)
    for parameter, action in zip(function.parameters, step.actions, strict=True):
        if action and function.derivative(parameter).kind != "scatters":
            raise Unfit(f"{text_of(step)}: the derivative by {parameter} gathers from all samples")


# ---------------------------------------------------------------- text


def launch_text(name, arguments, blocks, products):
    """A function that launches a kernel of that name."""
    given = [name, blocks, "THREADS", *arguments, f"int64({products})"]
    signature = filled(f"def launch_{name}(", [*arguments, "launch=on_gpu"], "):")
    return signature + "\n" + textwrap.indent(filled("launch(", given, ")"), "    ")


def sections(steps):
    """[(steps before it, product), ...], and the steps after the last product."""
    found, before = [], []
    for step in steps:
        if is_product(step):
            found.append((before, step))
            before = []
        else:
            before.append(step)
    return found, before


def branches(arms):
    """Lines that do one of several things, each a list of lines, by the number of the product."""
    lines = []
    for number, arm in enumerate(arms):
        word = (
            "else"
            if number + 1 == len(arms)
            else f"{'elif' if number else 'if'} number == {number}"
        )
        lines += [f"{word}:", *(f"    {line}" for line in arm)]
    return lines if len(arms) > 1 else arms[0]


def here(name):
    """What a thread's own numbers of a value are called."""
    return f"{name}_here"


def number_of(name):
    """What stands in a line for one of them; a number stands for itself."""
    return f"{here(name)}[j]" if isinstance(name, str) else f"float32({name!r})"


class Text:
    """The two kernels of a tape. Its methods return lines.

    places: see `FusedForm`. Others as in `write_fused`, and checked.
    """

    def __init__(self, steps, plan, result, keep, shapes, places):
        self.steps, self.plan, self.result, self.shapes = steps, plan, result, shapes
        self.places = places
        self.stored = list(dict.fromkeys([result, *keep]))
        self.imports = {module: set(names) for module, names in ALWAYS.items()}
        self.locals = {}  # what a thread has numbers of; the keys, in order
        computed, samples = {step.output for step in steps}, []
        for step in steps:
            if is_product(step) or not FUNCTIONS[step.function].whole:
                samples += names_among(step.inputs[:1] if is_product(step) else step.inputs)
        names = [name for step in steps for name in names_among(step.inputs)]
        self.given = [name for name in dict.fromkeys(names) if name not in {*computed, *places}]
        # Of these, those of which a thread needs its own numbers.
        self.samples = [name for name in self.given if name in samples]

    def form(self, title):
        """The `FusedForm`."""
        rows = (self.samples or self.stored)[0]
        grids = {name: None for step in self.plan for name in self.scattered(step)}
        forward = [*self.given, "parameters", *self.stored]
        grads = [gradient_of(name) for name in grids]
        backward = [*self.given, "parameters", "turned", *grads, "sums", self.result, SCALE]
        count = sum(map(is_product, self.steps))
        kernels = [
            self.kernel("forward", forward, rows, self.forward(self.stored), ["values"]),
            self.kernel(
                "backward", backward, rows, [*self.forward([self.result]), *self.backward()],
                ["values", "deltas"],
            ),
            launch_text("forward", forward, f"blocks_for({rows}.shape[0], SAMPLES)", count),
            launch_text("backward", backward, "sums.shape[0]", count),
        ]  # fmt: skip
        head = HEAD.format(
            title=title,
            tape="\n".join(f"    {text_of(step)}" for step in self.steps),
            places="\n".join(
                f"    {name} {shape} at {begin}" for name, (begin, shape) in self.places.items()
            ),
            scale=SCALE,
            result=self.result,
            products=count,
            imports="\n".join(
                filled(f"from {module} import ", sorted(self.imports[module]), "", "(", ")")
                for module in sorted(self.imports)
            ),
        )
        source = "\n\n\n".join([head, *kernels]) + "\n"
        return FusedForm(source, forward, backward, self.places)

    def kernel(self, name, arguments, rows, lines, shared):
        rows_of = {"values": "KEPT", "deltas": "SAMPLES"}
        declared = [
            f"{one} = cuda.shared.array(({rows_of[one]}, FOURS, 4), float32, alignment=16)"
            for one in shared
        ]
        declared += ["parts = cuda.shared.array((WARPS, SAMPLES, WIDTH), float32)"]
        declared += ["own = cuda.local.array((DEPTH, SHARE), float32)"]
        declared += [f"{here(one)} = cuda.local.array(SHARE, float32)" for one in self.locals]
        self.locals = {}
        return KERNEL.format(
            decorator="@cuda.jit",
            signature=filled(f"def {name}(", [*arguments, "products"], "):"),
            declared=textwrap.indent("\n".join(declared), 4 * " "),
            rows=rows,
            body=textwrap.indent("\n".join(lines), 8 * " "),
        ).strip("\n")

    def width(self, name):
        return self.shapes[name][1]

    def local(self, name):
        """The thread's own numbers of a value that is computed here."""
        self.locals[name] = None
        return here(name)

    def matrix(self, step, turned=False):
        """begin, rows and columns of a product's matrix, as text."""
        begin, shape = self.places[step.inputs[1]]
        return "{}, {}, {}".format(begin, *(reversed(shape) if turned else shape))

    # ------------------------------------------------------------ forward

    def forward(self, stored):
        """All of the way forward; writes the values of `stored`."""
        found, after = sections(self.steps)
        products = [product for _, product in found]
        arms = []
        for (before, product), last, ahead in zip(
            found, [None, *products], [*products[1:], None], strict=False
        ):
            source = product.inputs[0]
            arms.append([
                *self.totals(last),
                *self.pointwise(before),
                f"# {text_of(product)}",
                f"put({here(source)}, {self.width(source)}, True, number * SAMPLES, values)",
                f"begin, rows, columns = {self.matrix(ahead) if ahead else NOTHING}",
            ])  # fmt: skip
        return [
            f"load_weights(parameters, {self.matrix(products[0])}, own)",
            *(f"read_sample({name}, row, {self.width(name)}, {self.local(name)})"
              for name in self.samples),
            "for number in range(products):",
            *(f"    {line}" for line in [*branches(arms), *FORWARD]),
            *self.totals(products[-1]),
            *self.pointwise(after),
            *(f"write_sample({here(name)}, {self.width(name)}, inside, row, {name})"
              for name in stored),
        ]  # fmt: skip

    def totals(self, product):
        """The sums of a product, of which all parts are there."""
        if not product:
            return []
        output = self.local(product.output)
        lines = [f"take(parts, {output})"]
        for biases in product.inputs[2:]:
            begin, (_, columns) = self.places[biases]
            lines.append(f"add_biases(parameters, {begin}, {columns}, {output})")
        return lines

    def pointwise(self, steps):
        """Steps of single numbers, or that look into arrays at a position."""
        lines = []
        for step in steps:
            function = FUNCTIONS[step.function]
            self.imports.setdefault(function.module, set()).add(function.name)
            arguments, unless = [number_of(name) for name in step.inputs], ""
            if function.whole:
                arguments = [*map(str, step.inputs), "row", UNIT]
                unless = f" if {UNIT} < {self.width(step.output)} else float32(0)"
            call = f"{step.function}({', '.join(arguments)}){unless}"
            lines += [f"# {text_of(step)}", EACH, f"    {self.local(step.output)}[j] = {call}"]
        return lines

    # ------------------------------------------------------------ back

    def backward(self):
        """All of the way back."""
        found, after = sections(self.plan)
        products = [product for _, product in found]
        order = list(filter(is_product, self.steps))
        biased = any(len(product.inputs) > 2 for product in products)
        arms = []
        for (before, product), last, ahead in zip(
            found, [None, *products], [*products[1:], None], strict=False
        ):
            begin, (rows, columns) = self.places[product.inputs[1]]
            biases = [self.places[name][0] for name in product.inputs[2:]] or [NONE]
            deltas = here(gradient_of(product.output))
            arms.append([
                *self.gradient_below(last),
                *self.pointwise_back(before),
                f"# {text_of(product)}",
                f"put({deltas}, {columns}, inside, 0, deltas)",
                f"begin, rows, columns = {begin}, {rows}, {columns}",
                f"top = {order.index(product[:3])} * SAMPLES",
                *([f"biases = {biases[0]}"] if biased else []),
                f"ahead, ahead_rows, ahead_columns = {self.matrix_back(ahead)}",
            ])  # fmt: skip
        return [
            "# The way back.",
            f"load_weights(turned, {self.matrix_back(products[0])}, own)",
            EACH,
            f"    {self.local(gradient_of(self.result))}[j] = {SCALE}",
            "for number in range(products):",
            *(f"    {line}" for line in [*branches(arms), *BACK, *BIASES[: 2 * biased], *END]),
            *self.gradient_below(products[-1]),
            *self.pointwise_back(after),
        ]

    def matrix_back(self, product):
        """The matrix that the gradients of a product's inputs are made with, turned."""
        return self.matrix(product, True) if product and product.actions[0] else NOTHING

    def gradient_below(self, product):
        """The gradients of what went into a product, of which all parts are there."""
        if not product or not product.actions[0]:
            return []
        how = "take" if product.actions[0] == "set" else "add_taken"
        return [f"{how}(parts, {self.local(gradient_of(product.inputs[0]))})"]

    def pointwise_back(self, steps):
        lines = []
        for step in steps:
            whole = FUNCTIONS[step.function].whole
            lines += [f"# {text_of(step)}", EACH]
            lines += self.scatter(step) if whole else self.derivative(step)
        return lines

    def scattered(self, step):
        """The parameters into which the derivative of a step scatters."""
        if is_product(step) or not FUNCTIONS[step.function].whole:
            return []
        return [name for name, action in zip(step.inputs, step.actions, strict=True) if action]

    def scatter(self, step):
        function = FUNCTIONS[step.function]
        lines = [f"    if inside and {UNIT} < {self.width(step.output)}:"]
        for name in self.scattered(step):
            parameter = function.parameters[step.inputs.index(name)]
            derivative = function.derivative(parameter)
            self.imports.setdefault(derivative.module, set()).add(derivative.name)
            known = dict(zip(function.parameters, step.inputs, strict=True))
            known |= {f"grad_{parameter}": gradient_of(name), "row": "row", "column": UNIT}
            known["gradient"] = number_of(gradient_of(step.output))
            arguments = ", ".join(known[one] for one in derivative.parameters)
            lines.append(f"        {derivative.name}({arguments})")
        return lines

    def derivative(self, step):
        """One call of the derivative, which returns the gradients of all inputs."""
        function = FUNCTIONS[step.function]
        derivative = function.derivative(function.parameters[0])
        self.imports.setdefault(derivative.module, set()).add(derivative.name)
        known = dict(zip(function.parameters, step.inputs, strict=True))
        known["gradient"] = gradient_of(step.output)
        targets, sums = [], []
        for position, (name, action) in enumerate(zip(step.inputs, step.actions, strict=True)):
            part = f"part_{position}"
            targets.append(
                {"add": part, None: "_"}.get(action) or f"{self.local(gradient_of(name))}[j]"
            )
            if action == "add":
                sums.append(f"{self.local(gradient_of(name))}[j] += {part}")
        arguments = [number_of(known[one]) for one in derivative.parameters]
        call = filled(f"{', '.join(targets)} = {derivative.name}(", arguments, ")")
        return textwrap.indent("\n".join([call, *sums]), "    ").splitlines()
