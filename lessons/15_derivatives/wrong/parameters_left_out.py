"""A parameter can change itself, and needs a gradient."""
# caught by: needs_gradient
# diagnosis: parameters missing


def needs_gradient(steps, parameters):
    found = []
    for output, _, inputs in steps:
        if any(name in found or name in parameters for name in inputs):
            found.append(output)
    return found
