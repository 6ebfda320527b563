"""Each column has lesson 5b's tree in shared memory, with a barrier per round."""
# caught by: column_sums
# diagnosis: a barrier for each column

from numba import cuda, float32

from kernels.config import BLOCK_THREADS


@cuda.jit
def column_sums_of_blocks(gradient, partials):
    room = cuda.shared.array(BLOCK_THREADS, float32)
    me = cuda.threadIdx.x
    for column in range(gradient.shape[1]):
        own = float32(0)
        for row in range(cuda.grid(1), gradient.shape[0], cuda.gridsize(1)):
            own += gradient[row, column]
        room[me] = own
        cuda.syncthreads()
        half = BLOCK_THREADS // 2
        while half > 0:
            if me < half:
                room[me] += room[me + half]
            cuda.syncthreads()
            half //= 2
        if me == 0:
            partials[cuda.blockIdx.x, column] = room[0]
        cuda.syncthreads()
