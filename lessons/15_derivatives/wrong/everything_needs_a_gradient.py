"""Also what no parameter can change."""
# caught by: needs_gradient
# diagnosis: too many


def needs_gradient(steps, parameters):
    return [*parameters, *(output for output, _, _ in steps)]
