"""Kernels put together at random, most of them nonsense: a finding says so, never a traceback."""

import cmath
import linecache
import math
import operator
import random

import numpy as np
import pytest
from numba import cuda
from numba.cuda import libdevice

from lessons.lab.errors import InputError
from lessons.lab.simulator.run import checked_run

RECORD = np.dtype([("x", "f4"), ("k", "i4", (2,))])
VALUES = """i  x[i]  x  t  r  r.x  r.k  r.k[0]  (1, 2)  None  'a'  1.5  2j  x[::2]  t[1]  t[i % 2]
x[:i]  f  range(3)  zip(x, x)  enumerate(t)  a.T  a[0]  a  c[i]  c  x.shape  True  -1  0
np.float32""".replace("\n", "  ").split("  ")
FUNCTIONS = """len min max sum round divmod pow abs zip enumerate range tuple reversed int
float complex bool isinstance iter math.sin math.frexp math.ldexp math.pow
cmath.exp cmath.rect np.sin np.add np.sum np.zeros np.dot np.argmax operator.add
operator.lt operator.neg operator.getitem cuda.float32x2 cuda.ldcg cuda.stcg
libdevice.sinf libdevice.frexp cuda.selp x.reshape x.view x.sum x.copy a.ravel
c.real x.fill x.item np.float32 np.int8 f cuda.popc cuda.grid cuda.atomic.add
cuda.shared.array cuda.local.array""".split()
OPERATORS = "+ - * / // % < == and or in is << & @".split()
TEXT = """def kernel(x, a, c, p, o):
    i = cuda.grid(1)
    r = p[i]
    t = (i, 2)
    f = lambda v: v + 1
    {statement}
    o[0] = 1.0
"""


def statement(choose):
    value, other = choose(VALUES), choose(VALUES)
    index = choose([value, f"{value}:{other}", "...", f"{value}, {other}", f"::{value}", "None"])
    some = ", ".join(choose(VALUES) for _ in range(choose([0, 1, 1, 2, 2, 3])))
    return choose(
        [
            f"v = {choose(FUNCTIONS)}({some})",
            f"v = ({value}) {choose(OPERATORS)} ({other})",
            f"{choose(['x', 'a', 'r', 't', 'c', 'p'])}[{index}] = {choose(VALUES)}",
            f"v = ({choose(VALUES)})[{index}]",
            f"for v in {choose(FUNCTIONS[:12])}({value}, {other}): o[0] = 2.0",
        ]
    )


def run(number, seed, ask=False):
    choose = random.Random(f"{seed} {number}").choice
    text = TEXT.format(statement=statement(choose))
    name = f"<anything {seed} {number}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope = dict(cuda=cuda, np=np, math=math, cmath=cmath, operator=operator, libdevice=libdevice)
    exec(compile(text, name, "exec"), scope)
    arrays = [np.ones(8, np.float32), np.ones((3, 4), np.float32), np.ones(4, np.complex64)]
    try:
        checked_run(
            scope["kernel"],
            1,
            4,
            *arrays,
            np.zeros(4, RECORD),
            np.zeros(3),
            budget=1000,
            ask_numba=ask,
        )
    except InputError:
        pass
    except Exception as error:
        raise AssertionError(text) from error


@pytest.mark.filterwarnings("ignore")
def test_anything():
    for number in range(60):
        run(number, "quick")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_more_of_anything(seed):
    for number in range(2000):
        run(number, seed)
