"""In the order of the tape, no step but the last has a known gradient."""
# caught by: backward_steps
# diagnosis: step missing


def backward_steps(steps, result, parameters):
    wanted = needs_gradient(steps, parameters)
    known = [result]
    found = []
    for output, function, inputs in steps:
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
