"""Derivatives by machine: a tape of steps, and the kernels that are written from it.

    registry             which function has which derivative: `@derivative_of(sine)`
    functions            the functions that a tape may name, and their derivatives
    tape                 steps in order, and their way back
    kernels_of_a_tape    where one kernel ends and the next begins
    writer               the kernels of a tape, as text
    blocks               the grid and the block of each
    written              that text as functions that can be launched
    models               the tapes of a SIREN, of the lake's network, of a gray picture
    finite_differences   whether a derivative is right
    learner              a SIREN that learns a picture with written kernels
    comparison           how far written gradients are from those of people
    curves               the picture of derivatives and finite differences
    torch_function       a tape as a `torch.autograd.Function`, where there is PyTorch

What `writer` writes imports `functions` and `blocks`, and nothing else here.
"""
