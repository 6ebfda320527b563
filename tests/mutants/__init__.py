"""Mutants: does the checking find a bug when there is one?

A mutant is a kernel with one small mistake put in: a barrier removed, a guard dropped, two indices
swapped. Here mutants of every kernel of `kernels/` are made from its source (`generate`), run on
the checked simulator against the reference (`stages`, `judge`), and counted (`__main__`):

    python -m tests.mutants

A mutant that nobody notices is either a gap in the checks, or no mistake at all: some changes leave
a kernel as right as it was. Those are listed, with the reason, in `equivalent`.
"""
