"""What was used twice keeps only one part of its gradient."""
# caught by: backward_steps
# diagnosis: gradient lost


def backward_steps(steps, result, parameters):
    wanted = needs_gradient(steps, parameters)
    known = [result]
    found = []
    for output, function, inputs in reversed(steps):
        if output not in known:
            continue
        actions = []
        for name in inputs:
            if name not in wanted:
                actions.append(None)
                continue
            actions.append("set")
            known.append(name)
        if any(actions):
            found.append((output, function, inputs, tuple(actions)))
    return found
