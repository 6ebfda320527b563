"""Only the first input of each step is looked at."""
# caught by: needs_gradient
# diagnosis: not followed to the end


def needs_gradient(steps, parameters):
    names = list(parameters)
    for output, _, inputs in steps:
        if inputs[0] in names and output not in names:
            names.append(output)
    return names
