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

from numba import cuda, float32, int32, int64, uint64
from numba.extending import register_jitable

from kernels.config import THREADS
from kernels.field_math import random_uv
from kernels.launch import blocks_for, on_gpu
from kernels.plumbing.recording import FIRST_STEP, POSITION

LETTERS, DIGITS, PAIRS = 26, 10, 8
TOKENS = LETTERS + DIGITS  # a letter is 0 ... 25, a digit d is 26 + d
PLACES = 2 * PAIRS + 1
HELD_OUT = 0  # the step whose rows are never trained with


@register_jitable
def letter_after(passed, free):
    """The letter that comes when `passed` of the free ones have been passed over: an int32.

    free: int64, a bit per letter that has not been drawn yet.
    """
    letter = int32(-1)
    while passed >= 0:
        letter += int32(1)
        if (free >> int64(letter)) & int64(1):
            passed -= 1
    return letter


@cuda.jit
def draw_rows(clock, seed, tokens, answers):
    """Draw the rows of a step. One thread per row.

    clock: (3,) int64, see `kernels/plumbing/recording.py`. seed: uint64. Writes tokens (B, PLACES)
    and answers (B,), digits from 0: int32.
    """
    row = cuda.grid(1)
    if row >= tokens.shape[0]:
        return

    step = uint64(clock[FIRST_STEP] + clock[POSITION])
    sample = row * (PAIRS + 1)
    u, _ = random_uv(uint64(sample), step, seed)
    asked = int32(u * float32(PAIRS))
    free = (int64(1) << int64(LETTERS)) - int64(1)
    for pair in range(PAIRS):
        u, v = random_uv(uint64(sample + pair + 1), step, seed)
        letter = letter_after(int32(u * float32(LETTERS - pair)), free)
        free ^= int64(1) << int64(letter)
        digit = int32(v * float32(DIGITS))
        tokens[row, 2 * pair] = letter
        tokens[row, 2 * pair + 1] = LETTERS + digit
        if pair == asked:
            tokens[row, PLACES - 1] = letter
            answers[row] = digit


def launch_draw_rows(clock, seed, tokens, answers, launch=on_gpu):
    launch(draw_rows, blocks_for(tokens.shape[0]), THREADS, clock, seed, tokens, answers)


def words_of(row):
    """The tokens of a row as text: letters and digits."""
    return [chr(ord("a") + token) if token < LETTERS else str(token - LETTERS) for token in row]
