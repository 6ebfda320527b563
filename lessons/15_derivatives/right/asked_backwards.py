"""A value can change if one of those that it is made of can: by recursion."""


def needs_gradient(steps, parameters):
    made_of = {output: inputs for output, _, inputs in steps}

    def changes(name):
        return name in parameters or any(changes(one) for one in made_of.get(name, ()))

    return [name for name in (*parameters, *made_of) if changes(name)]
