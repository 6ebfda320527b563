"""The kernels that learn a lake, and all that it takes to run them.

The files directly in this folder are for reading. First what every stage uses:

    config          every size and setting
    field_math      the mathematics of one sample, shared by all backends
    launch          how many blocks, and what starts a kernel
    front_end       which compiler makes the kernels

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
    general     the same step for other networks: channels, octaves, activations, biases
    fast        the same step again, on tensor cores, until all steps are one kernel
    training    the backends, which of them is taken, and what owns a run
    files       images in and out, pictures and curves
    warm_ups    one idea of a large kernel at a time: what lessons 6 and 7 begin with

    transfers      lesson 10: the host's side, and the shape of a block
    reductions     lesson 11: sums, maxima and running sums, by shuffles
    products       lesson 12: matrix products, from rung to rung faster
    siren          lesson 13: a network of sines, without a grid
    inline         lesson 14: a network per pixel, the whole picture in every step
    derivatives    lesson 15: kernels of a backward pass that a machine writes
    classifier     lesson 16: which digit a small picture shows

Nothing here imports `lessons` or `tests`.
"""
