"""One input that can change is enough."""
# caught by: needs_gradient
# diagnosis: not followed to the end


def needs_gradient(steps, parameters):
    found = list(parameters)
    for output, _, inputs in steps:
        if all(name in found for name in inputs):
            found.append(output)
    return found
