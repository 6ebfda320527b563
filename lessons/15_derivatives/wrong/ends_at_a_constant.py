"""The way back ends at the first step that is left out."""
# caught by: backward_steps
# diagnosis: step missing


def backward_steps(steps, result, parameters):
    wanted = needs_gradient(steps, parameters)
    known = [result]
    found = []
    for output, function, inputs in reversed(steps):
        if output not in known:
            break
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
