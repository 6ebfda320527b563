"""Mutants that are no mistakes: the changed kernel is as right as it was, and here is why.

`Mutant.key` -> reason. Before adding one, try to find inputs for `stages` on which it is wrong.
"""

EQUIVALENT = {
    ("chunk_sums", "guard", "if group == 0", "if True", 0): (
        "every group of a unit has added up the same deltas in the same order, so all of them "
        "store the same bits"
    ),
    ("softmax_cross_entropy", "guard", "if thread == 0", "if True", 0): (
        "every thread stores the same loss in the same place: slower, and not wrong"
    ),
    ("softmax_cross_entropy", "barrier", "cuda.syncthreads()", "pass", 5): (
        "nobody uses the shared array after the last sum; the barrier is for who calls it next"
    ),
}
