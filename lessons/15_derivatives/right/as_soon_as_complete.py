"""A step is undone as soon as all uses of its output are: another order."""


def backward_steps(steps, result, parameters):
    wanted = needs_gradient(steps, parameters)
    made_by = {step[0]: step for step in steps}
    reached, waiting = [], [result]
    while waiting:
        name = waiting.pop()
        if name in made_by and name in wanted and name not in reached:
            reached.append(name)
            waiting.extend(made_by[name][2])
    uses = {}
    for name in reached:
        for one in made_by[name][2]:
            uses[one] = uses.get(one, 0) + 1
    found, known, ready = [], set(), [result] if result in reached else []
    while ready:
        output, function, inputs = made_by[ready.pop()]
        actions = []
        for name in inputs:
            uses[name] -= 1
            if name not in wanted:
                actions.append(None)
                continue
            actions.append("add" if name in known else "set")
            known.add(name)
            if uses[name] == 0 and name in reached:
                ready.append(name)
        found.append((output, function, inputs, actions))
    return found
