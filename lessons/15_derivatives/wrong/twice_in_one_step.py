"""An input that stands twice in one step is set twice."""
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
            actions.append("add" if name in known else "set")
        known.extend(name for name in inputs if name in wanted)
        if any(actions):
            found.append((output, function, inputs, tuple(actions)))
    return found
