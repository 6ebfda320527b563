"""What strangers hand in: attacks, from `hostile.txt`; and texts that are hardly Python."""

import re
from pathlib import Path
from typing import NamedTuple

from lessons.course.exercises import solution_text
from lessons.course.lesson import find_lesson

SOLUTION = solution_text(find_lesson("1")).encode()
MEGABYTE = 1 << 20
BEGINNING = re.compile(r"^=== (\w+) \| like (\w+)\n", re.MULTILINE)


class Attack(NamedTuple):
    """A submission that attacks. title: what it tries. like: the same file without the attack."""

    title: str
    like: str
    code: str


def read_attacks():
    """name -> `Attack`, from hostile.txt."""
    _, *parts = BEGINNING.split((Path(__file__).parent / "hostile.txt").read_text("utf-8"))
    found = {}
    for name, like, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        title, _, code = text.partition("\n\n")
        found[name] = Attack(title, like, code)
    return found


LAUNCH = b"def launch_over_pixels(kernel, source, result, launch=on_gpu):\n"


def in_the_launch(line):
    """Zeros, and what says why has to read a launch function with this line in it."""
    assert LAUNCH in SOLUTION
    zeros = SOLUTION.replace(b"gray[y, x] = ", b"gray[y, x] = 0 * ")
    assert zeros != SOLUTION
    return zeros.replace(LAUNCH, LAUNCH + b"    if 0:\n        " + line + b"\n")


TEXTS = {
    "ten_megabytes": b"# " + b"x" * (10 * MEGABYTE),
    "megabyte_of_commas": b"numbers = (" + b"0," * 120_000 + b")",
    "parentheses": b"x = " + b"(" * 100_000 + b")" * 100_000,
    "minus_signs": b"x = " + b"-" * 100_000 + b"1",
    "brackets": b"x = " + b"[" * 100_000,
    "attributes": b"x = numbers" + b".next" * 50_000,
    "sums": b"x = 1" + b" + 1" * 60_000,
    "if_in_if": "".join(" " * depth + "if x:\n" for depth in range(3_000)).encode(),
    "lambdas": b"x = " + b"lambda: " * 30_000 + b"0",
    "f_strings": b"x = " + b"f'{" * 200 + b"0" + b"}'" * 200,
    "many_digits": b"x = " + b"9" * 200_000,
    "null_bytes": SOLUTION + b"\0\0\0",
    "no_utf_8": b"\xff\xfe\xff\xff\xfd" * 1000,
    "cookie_undefined": b"# coding: undefined\n" + SOLUTION,
    "cookie_punycode": b"# coding: punycode\n" + b"a-" * 120_000,
    "cookie_idna": b"# coding: idna\n" + b"a" * 200_000,
    "cookie_euc_jp": b"# coding: euc-jp\n# \xc6\xfc\xcb\xdc\n" + SOLUTION,
    "cookie_zip": b"# coding: zip\n" + b"x" * 1000,
    "cookie_utf_7": b"# coding: utf-7\n+AGk-mport os\n",
    "cookie_unicode_escape": b"# coding: unicode_escape\nx = 1\n\\ud800\n",
    "empty_lines": b"\n" * 250_000 + b"# In[1]:\n" + b"\n" * 5_000,
    "only_magic": b"# In[1]:\n" + b" " * 100_000 + b"\n" * 100_000 + b"%x\n",
    "form_feeds": b"\f" * 200_000,
    "backslashes": b"\\\n" * 100_000,
    "decorators": b"@x\n" * 30_000 + b"def f(): pass\n",
    "functions": b"def f(): pass\n" * 18_000,
    "long_sum_in_a_launch": in_the_launch(b"x = 1" + b" + 1" * 400),
    "long_chain_in_a_launch": in_the_launch(b"x = source" + b".shape" * 900),
    "many_digits_in_a_launch": in_the_launch(b"x = 0x" + b"f" * 20_000),
    "surrogates": "x = '\ud800'\n".encode("utf-8", "surrogatepass"),
}
