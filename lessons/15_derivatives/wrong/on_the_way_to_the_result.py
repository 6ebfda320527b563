"""Also left out is what the loss does not depend on; that is for backward_steps to find."""
# caught by: needs_gradient
# diagnosis: backward_steps leaves such steps out


def needs_gradient(steps, parameters):
    found = list(parameters)
    for output, _, inputs in steps:
        if any(name in found for name in inputs):
            found.append(output)
    used = {steps[-1][0]}
    for output, _, inputs in reversed(steps):
        if output in used:
            used.update(inputs)
    return [name for name in found if name in used]
