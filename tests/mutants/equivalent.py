"""Mutants that are no mistakes: the changed kernel is as right as it was, and here is why.

`Mutant.key` -> reason. Before adding one, try to find inputs for `stages` on which it is wrong.
"""

EQUIVALENT = {
    ("backward", "barrier", "cuda.syncthreads()", "pass", 2): (
        "The barrier after the weight gradient keeps deltas from overwriting activations that are "
        "still being read. The loop that follows has two barriers of its own for each weight tile, "
        "and at least one tile, before it stores the first delta; those are enough."
    ),
}
