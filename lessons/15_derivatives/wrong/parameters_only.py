"""Only parameters get a gradient, so it never reaches them."""
# caught by: backward_steps
# diagnosis: part missing


def backward_steps(steps, result, parameters):
    known = [result]
    found = []
    for output, function, inputs in reversed(steps):
        if output not in known:
            continue
        actions = []
        for name in inputs:
            if name not in parameters:
                actions.append(None)
                continue
            actions.append("add" if name in known else "set")
            known.append(name)
        if actions:
            found.append((output, function, inputs, tuple(actions)))
    return found
