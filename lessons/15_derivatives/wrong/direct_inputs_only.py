"""Only what is made of a parameter itself: a chain has more links."""
# caught by: needs_gradient
# diagnosis: not followed to the end


def needs_gradient(steps, parameters):
    found = list(parameters)
    for output, _, inputs in steps:
        if any(name in parameters for name in inputs):
            found.append(output)
    return found
