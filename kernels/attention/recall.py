"""Rows to learn from: eight letters, each with a digit, and then one of them again. Which digit?

    seed, step  ->  tokens (B, 17) int32, answers (B,) int32

The idea: k 7 d 2 x 7 ... and at last d: the answer is 2. Letters and digits are drawn anew for each
row, so there is nothing to learn by heart: whoever answers must look. The digit that occurs most
often in the row is right in 30 of 100 cases. More than that needs a place that knows its
neighbour's letter.

A row is a function of seed, step and its number (lesson 3's `random_uv`), so that nothing has to be
copied to the GPU, and those of step 0, which is none, are held out.

Source: Ba, Hinton and others, "Using fast weights to attend to the recent past", 2016, section 4.1.
"""

from numba import cuda, float32, int32, uint64

from kernels.config import BLOCK_THREADS, WARP
from kernels.field_math import random_uv
from kernels.launch import blocks_for, on_gpu
from kernels.plumbing.recording import FIRST_STEP, POSITION
from kernels.reductions.sums import ALL_LANES, WARPS

LETTERS, DIGITS, PAIRS = 26, 10, 8
TOKENS = LETTERS + DIGITS  # a letter is 0 ... 25, a digit d is 26 + d
PLACES = 2 * PAIRS + 1
HELD_OUT = 0  # the step whose rows are never trained with


@cuda.jit
def draw_rows(clock, seed, tokens, answers):
    """Draw the rows of a step. One warp per row: a lane per letter, and per pair of random numbers.

    clock: (3,) int64, see `kernels/plumbing/recording.py`. seed: uint64. Writes tokens (B, PLACES)
    and answers (B,), digits from 0: int32.
    """
    lane, row = cuda.threadIdx.x % WARP, cuda.grid(1) // WARP
    # A whole warp leaves, so none of its shuffles lacks a lane.
    if row >= tokens.shape[0]:
        return

    step = uint64(clock[FIRST_STEP] + clock[POSITION])
    # Lane 0 draws which pair is asked for, lanes 1 to PAIRS draw the pairs.
    u, v = random_uv(uint64(row * (PAIRS + 1) + min(lane, PAIRS)), step, seed)
    asked = int32(cuda.shfl_sync(ALL_LANES, u, 0) * float32(PAIRS))
    digit = int32(v * float32(DIGITS))
    if 0 < lane <= PAIRS:
        tokens[row, 2 * lane - 1] = LETTERS + digit
        if lane - 1 == asked:
            answers[row] = digit
    # Of the letters that are still free, the lane's is the rank-th; one that is not has rank -1.
    rank = int32(lane) if lane < LETTERS else int32(-1)
    for pair in range(PAIRS):
        chosen = int32(cuda.shfl_sync(ALL_LANES, u, pair + 1) * float32(LETTERS - pair))
        if rank == chosen:
            tokens[row, 2 * pair] = lane
            if pair == asked:
                tokens[row, PLACES - 1] = lane
            rank = int32(-1)
        elif rank > chosen:
            rank -= int32(1)


def launch_draw_rows(clock, seed, tokens, answers, launch=on_gpu):
    blocks = blocks_for(tokens.shape[0], WARPS)
    launch(draw_rows, blocks, BLOCK_THREADS, clock, seed, tokens, answers)


def words_of(row):
    """The tokens of a row as text: letters and digits."""
    return [chr(ord("a") + token) if token < LETTERS else str(token - LETTERS) for token in row]
