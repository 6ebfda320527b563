"""Each value once: right for a network that is a chain, and for nothing else."""
# points: 7


def backward_steps(steps, result, parameters):
    wanted = needs_gradient(steps, parameters)
    return [
        (output, function, inputs, tuple("set" if name in wanted else None for name in inputs))
        for output, function, inputs in reversed(steps)
    ]
