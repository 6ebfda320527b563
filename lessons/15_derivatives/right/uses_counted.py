"""A dictionary counts the parts of each gradient."""


def backward_steps(steps, result, parameters):
    wanted = set(needs_gradient(steps, parameters))
    parts = {result: 1}
    back = []
    for position in range(len(steps) - 1, -1, -1):
        output, function, inputs = steps[position]
        if not parts.get(output) or output not in wanted:
            continue
        actions = []
        for name in inputs:
            action = None
            if name in wanted:
                parts[name] = parts.get(name, 0) + 1
                action = "set" if parts[name] == 1 else "add"
            actions.append(action)
        back.append([output, function, list(inputs), actions])
    return back
