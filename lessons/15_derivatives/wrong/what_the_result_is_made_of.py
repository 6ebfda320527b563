"""It finds what the last result is made of, and not what is made of the parameters."""
# caught by: needs_gradient
# diagnosis: Asked for is the other way


def needs_gradient(steps, parameters):
    if not steps:
        return list(parameters)
    contributes = set(parameters)
    contributes.add(steps[-1][0])
    for output, _, inputs in reversed(steps):
        if output in contributes:
            contributes.update(name for name in inputs if isinstance(name, str))
    return sorted(contributes)
