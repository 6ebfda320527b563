"""The inputs beside a parameter are taken to need a gradient as well."""
# caught by: needs_gradient
# diagnosis: too many


def needs_gradient(steps, parameters):
    found = list(parameters)
    for output, _, inputs in steps:
        if any(name in found for name in inputs):
            found.append(output)
            found.extend(name for name in inputs if isinstance(name, str))
    return found
