"""A set of what can change, as a list at the end."""


def needs_gradient(steps, parameters):
    reached = set(parameters)
    for output, _, inputs in steps:
        if reached & set(inputs):
            reached.add(output)
    return sorted(reached)
