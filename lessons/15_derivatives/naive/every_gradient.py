"""The gradient of everything, whether it leads to a parameter or not."""
# points: 9


def backward_steps(steps, result, parameters):
    known = [result]
    found = []
    for output, function, inputs in reversed(steps):
        if output not in known:
            continue
        actions = []
        for name in inputs:
            if not isinstance(name, str):
                actions.append(None)
                continue
            actions.append("add" if name in known else "set")
            known.append(name)
        if any(actions):
            found.append((output, function, inputs, tuple(actions)))
    return found
