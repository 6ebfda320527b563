"""The loss's own step is not undone."""
# caught by: backward_steps
# diagnosis: not from the end


def backward_steps(steps, result, parameters):
    wanted = needs_gradient(steps, parameters)
    known = [steps[-1][0], *steps[-1][2]]
    found = []
    for output, function, inputs in reversed(steps[:-1]):
        if output not in known:
            continue
        actions = []
        for name in inputs:
            if name not in wanted:
                actions.append(None)
                continue
            actions.append("add" if name in known else "set")
            known.append(name)
        if any(actions):
            found.append((output, function, inputs, tuple(actions)))
    return found
