"""Each input is taken for a name, also one that is a number."""
# caught by: needs_gradient
# diagnosis: AttributeError


def needs_gradient(steps, parameters):
    names = list(parameters)
    for output, _, inputs in steps:
        if any(name.strip() in names for name in inputs) and output not in names:
            names.append(output)
    return names
