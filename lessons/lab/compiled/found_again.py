"""What a thread need not keep while it waits, because it is as quickly found again.

A thread that waits keeps its variables in its generator: Numba stores them before a yield, and
loads them behind it. An array is a dozen numbers, and a kernel has many arrays. But arguments lie
in the generator anyway, and where shared and local arrays lie is known. So what has one definition
is defined once more behind each yield, and need not be stored; a constant stays one, which the
compiler can compute with. Waiting takes a tenth of the time.
"""

# Numba's intermediate representation has no types.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls

import itertools

from numba.core import ir
from numba.core.ir_utils import rename_labels

LIES_THERE = (ir.Arg, ir.Const, ir.Global, ir.FreeVar)
AGAIN = "found_again"  # attribute of what makes an array: what finds the same one again


def define_again(function) -> None:
    """Behind each yield of a function, define again what lives and is quicker to find than to keep.

    function: Numba's, after a `PostProcessor` has noted what lives at each yield.
    """
    assigned = assignments_of(function)
    points = function.generator_info.get_yield_points()
    alive = {point.inst: sorted(point.live_vars | point.weak_live_vars) for point in points}
    labels = itertools.count(max(function.blocks) + 1)
    blocks: dict[int, ir.Block] = {}
    for label, block in function.blocks.items():
        statements, block.body = block.body, []
        blocks[label] = block
        for statement in statements:
            block.append(statement)
            value = getattr(statement, "value", None)
            if isinstance(value, ir.Yield):
                # In a block of its own: Numba looks at whole blocks to see what lives.
                label = next(labels)
                block.append(ir.Jump(label, statement.loc))
                block = blocks[label] = ir.Block(block.scope, statement.loc)
                found: dict[str, list] = {}
                for name in alive[value]:
                    find(name, assigned, found)
                block.body += [assignment for again in found.values() for assignment in again]
    function.blocks = rename_labels(blocks)


def assignments_of(function) -> dict[str, list]:
    """Variable -> all that is assigned to it."""
    assigned: dict[str, list] = {}
    for block in function.blocks.values():
        for assignment in block.find_insts(ir.Assign):
            assigned.setdefault(assignment.target.name, []).append(assignment)
    return assigned


def find(name: str, assigned: dict[str, list], found: dict[str, list]) -> bool:
    """Whether a variable can be defined again; then how is in `found`, behind what it needs."""
    if name in found:
        return True
    if len(assigned.get(name, ())) != 1:
        return False
    only = assigned[name][0]
    is_found = isinstance(only.value, ir.Var) and find(only.value.name, assigned, found)
    if is_found or isinstance(only.value, LIES_THERE):
        found[name] = [only]
        return True
    return find_array(only, assigned, found)


def find_array(only, assigned: dict[str, list], found: dict[str, list]) -> bool:
    """As `find`, for what may be a call that makes an array."""
    call = only.value
    if not isinstance(call, ir.Expr) or call.op != "call" or len(call.args) != 1:
        return False
    maker = assigned.get(call.func.name, ())
    value = maker[0].value if len(maker) == 1 else None
    again = getattr(getattr(value, "value", None), AGAIN, None)
    if again is None or not find(call.args[0].name, assigned, found):
        return False
    finder = only.target.scope.make_temp(only.loc)
    found[only.target.name] = [
        ir.Assign(ir.Global(AGAIN, again, only.loc), finder, only.loc),
        ir.Assign(ir.Expr.call(finder, call.args, (), only.loc), only.target, only.loc),
    ]
    return True
