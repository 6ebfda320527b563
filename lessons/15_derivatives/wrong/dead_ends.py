"""Steps that the loss does not depend on have no gradient to begin with."""
# caught by: backward_steps
# diagnosis: dead end


def backward_steps(steps, result, parameters):
    wanted = needs_gradient(steps, parameters)
    known = [result]
    found = []
    for output, function, inputs in reversed(steps):
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
