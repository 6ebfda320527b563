"""The kernels that learn a lake, and all that it takes to run them.

The files directly in this folder are for reading. First what every stage uses:

    config          every size and setting
    field_math      the mathematics of one sample, shared by all backends
    launch          how many blocks, and what starts a kernel

Then the stages, in the order of the lessons. Each file says its idea, then shows the kernel, then
launches it:

    image_ops       lessons 1 and 2: whole images
    sampler         lesson 3: random points and their colours
    encode          lesson 4: sixteen numbers for a point
    matmul          lesson 5: matrix products, what the network is made of
    histogram       lesson 5b: counts and sums of many threads
    mlp_forward     lesson 6: the whole network in one kernel
    backward        lesson 7: every gradient in one kernel
    adam            lesson 8: how far each parameter moves
    training_step   lesson 9: the stages in their order

Beside them, `state` is what training changes, `errors` the one exception that a user reads, and
`program` how a command line ends.

The folders:

    cpu         the same step for a machine without a GPU
    fast        the same step again, on tensor cores, until all steps are one kernel
    training    the backends, which of them is taken, and what owns a run
    files       images in and out, pictures and curves

Nothing here imports `lessons` or `tests`.
"""
