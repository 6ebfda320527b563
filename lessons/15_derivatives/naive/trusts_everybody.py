"""No derivative is ever wrong."""
# points: 9


def disagrees(function, derivative, inputs):
    return False
