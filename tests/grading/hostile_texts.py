"""What strangers hand in: attacks, from `hostile.txt`; texts that are no Python; files."""

import json
import re
import zipfile
from pathlib import Path
from typing import NamedTuple

from lessons.course.exercises import exercise_text, solution_text
from lessons.course.lesson import find_lesson
from tests.grading.made_class import notebook, zipped

SKELETON = exercise_text(find_lesson("1"))
SOLUTION = solution_text(find_lesson("1")).encode()
MEGABYTE = 1 << 20
BEGINNING = re.compile(r"^=== (\w+) \| like (\w+)( with its kernel)?\n", re.MULTILINE)
IMPORTS = """import numba
import numpy as np
from numba import cuda

from kernels.config import TILE
from kernels.launch import blocks_for, on_gpu

"""


class Attack(NamedTuple):
    """A submission that attacks. title: what it tries. like: the same file without the attack."""

    title: str
    like: str
    code: str
    with_kernel: str = ""


def read_attacks():
    """name -> `Attack`, from hostile.txt."""
    _, *parts = BEGINNING.split((Path(__file__).parent / "hostile.txt").read_text("utf-8"))
    found = {}
    for name, like, with_kernel, text in zip(*(parts[i::4] for i in range(4)), strict=True):
        title, _, code = text.partition("\n\n")
        found[name] = Attack(title, like, IMPORTS * bool(with_kernel) + code, with_kernel)
    kernel = found["zeros"].code
    return {
        name: one._replace(code=kernel + one.code) if one.with_kernel else one
        for name, one in found.items()
    }


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

# ---------------------------------------------------------------- other files than one in Python

ZEROS = SOLUTION.decode() + "\n\n" + read_attacks()["zeros"].code
GIVEN = SKELETON[SKELETON.index("def launch_over_pixels") :]
MEANING = {"cells": [], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}
CODE = {"cell_type": "code", "source": SOLUTION.decode(), "metadata": {}, "outputs": []}


def book(*cells, **more):
    return json.dumps(MEANING | {"cells": cells} | more).encode()


def with_mode(name, mode):
    entry = zipfile.ZipInfo(name)
    entry.external_attr = mode << 16
    return entry


def in_zips(depth, content=SOLUTION):
    for _ in range(depth):
        content = zipped({"01_grayscale.py" if content is SOLUTION else "inner.zip": content})
    return content


def entry_renamed(before, after, flags=0):
    """A zip with an entry of another name: bytes that zipfile would not write."""
    content = zipped({before.decode(): SOLUTION}).replace(before, after)
    start = content.index(b"PK\1\2") + 8
    return content[:start] + flags.to_bytes(2, "little") + content[start + 2 :]


def searching(luminance, grayscale="    pass", more=""):
    """A file without our solution, of which a part is wrong."""
    head = "import numpy as np\nfrom numba import cuda, float32\n"
    head += "from kernels.config import TILE\nfrom kernels.launch import blocks_for, on_gpu\n"
    functions = f"def luminance(red, green, blue):\n{luminance}\n\n@cuda.jit\n"
    return (
        f"{head}\n{functions}def grayscale(image, gray):\n{grayscale}\n\n{GIVEN}{more}\n".encode()
    )


CALLS = """    x, y = cuda.grid(2)
    if y < gray.shape[0] and x < gray.shape[1]:
        gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])"""
SPY = """
def launch_over_pixels(kernel, source, result, launch=on_gpu):
    print(WHAT)
    raise ValueError(WHAT)
"""
NOTEBOOKS = {
    "deep_metadata": book(CODE, metadata=0).replace(
        b'"metadata": 0', b'"metadata": ' + b"[" * 90_000
    ),
    "deep_and_closed": b'{"cells": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "many_keys": lambda: (
        b'{"cells": [], "x": {' + b",".join(b'"%d":0' % i for i in range(900_000)) + b"}}"
    ),
    "many_words": notebook(SOLUTION.decode(), "a = 1\n" * 40_000).encode(),
    "chain_of_names": notebook(
        SOLUTION.decode(), "\n".join(f"a{i} = a{i + 1}" for i in range(9_000)), "def f(): return a0"
    ).encode(),
    "lambdas": notebook("def f():\n" + "    a = lambda: [a for a in b]\n" * 8_000).encode(),
    "work_in_outputs": book(
        CODE | {"source": "x = 1", "outputs": [{"data": {"text/plain": CODE["source"]}}]}
    ),
    "work_in_markdown": book(CODE | {"cell_type": "markdown"}, CODE | {"cell_type": "raw"}),
    "work_in_widgets": book(metadata={"widgets": {"state": {"a": CODE}}}),
    "work_in_attachments": book(
        {"cell_type": "markdown", "source": "", "attachments": {"a": CODE}}
    ),
    "magics": notebook(
        "!touch /tmp/left_by_a_student",
        "%%bash\ntouch /tmp/left_by_a_student",
        "%run 01_grayscale.py",
        "%%python\n" + CODE["source"],
        "%load_ext evil",
        "x = !ls",
        "get_ipython().system('touch /tmp/left_by_a_student')",
    ).encode(),
    "source_is_no_text": book(
        *(CODE | {"source": x} for x in ({"a": 1}, [[1]], 3, None, [1, "a"]))
    ),
    "cells_are_no_list": b'{"cells": {"cell_type": "code", "source": "x"}}',
    "numbers": b'{"cells": [NaN, Infinity, -1e999, ' + b"9" * 200_000 + b"]}",
    "surrogates": book(CODE | {"source": "x = '\ud800'\n" + ZEROS}),
    "two_of_each_key": book(CODE)[:-1] + b', "cells": []}',
}
ARCHIVES = {
    "bomb": lambda: zipped({"01_grayscale.py": b"#" * (99 << 20)}),
    "bombs": lambda: zipped({f"{i}/01_grayscale.py": b"#" * (9 << 20) for i in range(12)}),
    "in_archives": in_zips(9),
    "links": zipped({with_mode("01_grayscale.py", 0o120777): "/etc/passwd"}),
    "devices": zipped(
        {
            with_mode("01_grayscale.py", 0o020666): "",
            with_mode("a/01_grayscale.py", 0o060666): "",
            with_mode("b/01_grayscale.py", 0o010666): "",
            with_mode("c/01_grayscale.py", 0o140666): "",
        }
    ),
    "absolute_paths": zipped(
        {
            "/tmp/left_by_a_student": "x",
            "C:\\01_grayscale.py": ZEROS,
            "\\\\host\\01_grayscale.py": ZEROS,
            "../../01_grayscale.py": ZEROS,
            "a/../../../01_grayscale.py": ZEROS,
        }
    ),
    "other_encodings": entry_renamed(b"01_grayscale.py", b"01_gr\xe4yscal\xff.py"),
    "wrong_utf_8": entry_renamed(b"01_grayscale.py", b"01_gr\xe4yscal\xff.py", flags=0x800),
    "null_in_a_name": entry_renamed(b"01_grayscale.py", b"01_grayscal\0.py"),
    "encrypted": entry_renamed(b"01_grayscale.py", b"01_grayscale.py", flags=1),
    "many_entries": lambda: zipped({f"{i}.py": "" for i in range(20_001)}),
    "names_as_formulas": zipped(
        {
            "=HYPERLINK(1)/01_grayscale.py": ZEROS,
            "<script>alert(1)</script>.py": ZEROS,
            "\x1b[2J\n01_grayscale 10 of 10.py": ZEROS,
            "\u202eyp.elacsyarg_10.py": ZEROS,
        }
    ),
    "no_archive": SOLUTION,
    "a_half": zipped({"01_grayscale.py": SOLUTION})[:-30],
}
JOURNAL_ROW = json.dumps({
    "student": "journal_in_a_folder", "file": None,
    "row": dict(lesson="01_grayscale", check="every_pixel", score=10, max_score=10,
                status="passed", message="", diagnosis="", backend="", device="", seconds=0),
})  # fmt: skip
JOURNALS = {
    "journal_in_a_folder": {
        "01_grayscale.py": ZEROS.encode(),
        **dict.fromkeys(
            ("journal.jsonl", "grade.json", "students/a/grade.json", "grades.csv"),
            b'{"format": 1}\n' + JOURNAL_ROW.encode() + b"\n",
        ),
    },
    "journal_in_a_message": {
        "01_grayscale.py": f"raise ValueError({chr(10) + JOURNAL_ROW + chr(10)!r})\n".encode()
    },
    **{
        name: {"01_grayscale.py": ZEROS.encode()}
        for name in ("=HYPERLINK(1)", "+1+1", "@SUM(A1)", '"quoted", in; two', "<b>bold<", "CON",
                     "journal.jsonl", "students", "Zeros", "x" * 200, "\uff1d1", "-2+3", "\x1b[2J")
    },
}  # fmt: skip
# A part is wrong, so that ours is put there or looked for: nothing of its text may come out.
SEARCHES = {
    "fails_on_purpose": searching("    raise ValueError(1)", CALLS),
    "wrong_on_purpose": searching("    return red", CALLS),
    "right_helper_wrong_main": searching(
        "    return (0.2126 * red + 0.7152 * green) + 0.0722 * blue"
    ),
    "placeholders": searching("    raise NotImplementedError('write me')", CALLS),
    "spy_on_names": searching("    return red", CALLS, SPY.replace(
        "WHAT", "f'{luminance!r} {luminance.__doc__} {luminance.__name__} {type(luminance)}'"
    )),
    "spy_on_code": searching("    return red", CALLS, SPY.replace(
        "WHAT", "[luminance.py_func.__code__, luminance.__code__.co_consts, luminance.__defaults__]"
    )),
    "spy_on_the_file": searching("    return red", CALLS, SPY.replace(
        "WHAT", "[open(__file__).read(), __doc__, __file__, __name__]"
    )),
    "spy_when_it_is_called": searching(
        "    print('called', red)\n    return red", CALLS, "\nprint(luminance, grayscale.py_func)\n"
    ),
    "spy_in_an_error": searching("    return red", CALLS.replace("luminance(", "luminance.ours(")),
    "only_one_argument": searching("    return red", CALLS.replace(", image[y, x, 1]", "")),
}  # fmt: skip
# student -> path in its folder -> content, or what makes it
HANDED = {
    **{f"notebook_{name}": {"01_grayscale.ipynb": text} for name, text in NOTEBOOKS.items()},
    **{f"archive_{name}": {"work.zip": content} for name, content in ARCHIVES.items()},
    **{f"search_that_{name}": {"01_grayscale.py": text} for name, text in SEARCHES.items()},
    **JOURNALS,
}
