"""Modules of kernels, written in another way that changes nothing for Numba.

Each way edits the text and keeps count of lines, so that a finding of the new text can be told as
one of the old.
"""

import ast
import importlib.util
import io
import itertools
import re
import tokenize

LATER = "_renamed"
# Lines of this module: those of another one have its name behind them.
LINES = re.compile(r"\blines? \d+\b(?! of \w+ \()(?:(?:, | and )\d+)*")
HOISTED = re.compile(r"hoisted_(\d+)")


class Rewritten:
    """lines: the new text. origin: of each, the number of the old line that it comes from."""

    def __init__(self, text):
        self.tree = ast.parse(text)
        self.lines = text.splitlines()
        self.before = {}  # number of an old line -> lines that stand before it now
        self.hoisted = []  # the text of each call that has a variable of its own now

    def functions(self):
        """Kernels and functions for the GPU: those that have a decorator, or are called by them."""
        nodes = [n for n in self.tree.body if isinstance(n, ast.FunctionDef)]
        return [n for n in nodes if any("lambda" not in ast.unparse(d) for d in n.decorator_list)]

    def insert(self, line, text):
        self.before.setdefault(line, []).append(text)

    def replace(self, node, text):
        """Put a text where a node stands, which must be on one line."""
        line = self.lines[node.lineno - 1].encode()
        new = line[: node.col_offset] + text.encode() + line[node.end_col_offset :]
        self.lines[node.lineno - 1] = new.decode()

    def result(self):
        """(text, origin): origin[n] is the old number of the new line n, which counts from 1."""
        text, origin = [], [0]
        for number, line in enumerate(self.lines, start=1):
            for one in [*self.before.get(number, []), line]:
                text.append(one)
                origin.append(number)
        return "\n".join(text) + "\n", origin


def statements(function):
    """Those of a function that stand alone on lines of their own, with those inside of them."""
    for node in ast.walk(function):
        for field in ("body", "orelse"):
            body = getattr(node, field, None)
            if isinstance(body, list):
                yield from (one for one in body if isinstance(one, ast.stmt))


def indented(node, text):
    return " " * node.col_offset + text


def with_statements_of_no_effect(module):
    """A docstring in each function, and `pass` or a number in front of each statement."""
    idle = itertools.cycle(("pass", "'nothing'", "0"))
    for function in module.functions():
        own = list(statements(function))
        module.insert(own[0].lineno, indented(own[0], '"""A docstring."""'))
        for one in own:
            if is_elif(one, module.lines) or isinstance(one, ast.FunctionDef):
                continue
            module.insert(one.lineno, indented(one, next(idle)))


def is_elif(node, lines):
    return lines[node.lineno - 1].lstrip().startswith("elif")


def with_annotations(module):
    """`name = value` becomes `name: object = value`."""
    for function in module.functions():
        for one in statements(function):
            if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name):
                if len(one.targets) == 1:
                    module.replace(one.targets[0], f"{one.targets[0].id}: object")


def with_other_names(module):
    """Each local variable has another name."""
    spans = []
    for function in module.functions():
        arguments = {one.arg for one in function.args.args}
        stored = {
            n.id for n in ast.walk(function)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }  # fmt: skip
        inner = {n.name for n in ast.walk(function) if isinstance(n, ast.FunctionDef)}
        spans.append((function.body[0].lineno, function.end_lineno, stored - arguments - inner))
    text = "\n".join(module.lines) + "\n"
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    for before, token in reversed(list(itertools.pairwise(tokens))):
        row, column = token.start
        mine = any(first <= row <= last and token.string in names for first, last, names in spans)
        if token.type == tokenize.NAME and mine and before.string != ".":
            line = module.lines[row - 1]
            end = column + len(token.string)
            module.lines[row - 1] = line[:end] + LATER + line[end:]


def with_calls_in_variables(module):
    """`f(g(x))` becomes two lines: `hoisted = g(x)`, and `f(hoisted)`."""
    for function in module.functions():
        for one in statements(function):
            call = inner_call(one)
            if call is None or call.lineno != call.end_lineno:
                continue
            text = module.lines[call.lineno - 1].encode()[call.col_offset : call.end_col_offset]
            name = f"hoisted_{len(module.hoisted)}"
            module.hoisted.append(text.decode())
            module.insert(one.lineno, indented(one, f"{name} = {text.decode()}"))
            module.replace(call, name)


def inner_call(statement):
    """A call that is computed before anything else of a statement; None if there is none."""
    if not isinstance(statement, (ast.Assign, ast.Expr, ast.Return)):
        return None
    call = statement.value
    if isinstance(statement, ast.Assign) and not isinstance(statement.targets[0], ast.Name):
        return None  # where it is stored may be computed first
    while isinstance(call, ast.Call):
        inner = next((a for a in call.args if not is_simple(a)), None)
        if not isinstance(inner, ast.Call) or call.keywords:
            return None
        if all(map(is_simple, inner.args)) and is_of_a_device_function(inner):
            return inner
        call = inner
    return None


def is_simple(node):
    return isinstance(node, (ast.Name, ast.Constant, ast.Attribute))


def is_of_a_device_function(call):
    return isinstance(call.func, ast.Name) and not call.keywords


def with_values_by_calls(module):
    """`cuda.atomic.add(a, i, 1)` becomes `cuda.atomic.add(a, i, as_it_is(1))`: a nested call."""
    for function in module.functions():
        for call in ast.walk(function):
            value = call.args[-1] if isinstance(call, ast.Call) and call.args else None
            atomic = value is not None and ".atomic." in ast.unparse(call.func)
            if atomic and is_simple(value) and value.lineno == value.end_lineno:
                module.replace(value, f"as_it_is({ast.unparse(value)})")
    module.lines += AS_IT_IS.splitlines()


AS_IT_IS = """
@cuda.jit(device=True)
def as_it_is(value):
    \"\"\"A docstring, and a statement of no effect.\"\"\"
    pass
    return value
"""
WAYS = {
    "statements of no effect": with_statements_of_no_effect,
    "annotations": with_annotations,
    "other names": with_other_names,
    "calls in variables": with_calls_in_variables,
    "values by calls": with_values_by_calls,
}


def load_rewritten(path, way, folder, registry):
    """Load a module written in another way. Returns what turns a message about it back.

    registry: the module's own dictionary of kernels, or one that it takes from another module.
    """
    module = Rewritten(path.read_text())
    WAYS[way](module)
    text, origin = module.result()
    file = folder / path.name
    file.write_text(text)
    specification = importlib.util.spec_from_file_location(f"rewritten_{path.stem}", file)
    loaded = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(loaded)
    registry.update(next(v for k, v in vars(loaded).items() if k in ("RIGHT", "WRONG") and v))

    def translate(message):
        message = re.sub(r"as_it_is\(([^()]*)\)", r"\1", message.replace(LATER, ""))
        message = HOISTED.sub(lambda found: module.hoisted[int(found[1])], message)
        return LINES.sub(lambda found: old_numbers(found[0]), message)

    def old_numbers(words):
        return re.sub(r"\d+", lambda found: str(origin[int(found[0])]), words)

    return translate
