"""The search for a slip: which small changes it tries, and what it says of the one that passes."""

import ast
from pathlib import Path
from typing import Any

import pytest

from lessons.course.exercises import solution_text
from lessons.course.lesson import find_lesson
from lessons.grading.checks.explain import FULL_EFFORT, NO_EFFORT, Failure
from lessons.grading.checks.run import checks_of, run_check
from lessons.grading.repairs.candidates import candidates
from lessons.grading.repairs.compared import in_forms
from lessons.grading.repairs.differences import (
    Difference,
    Place,
    is_in_several_lines,
    is_one_place,
    overwrites,
    with_moves,
)
from lessons.grading.repairs.lines import Line
from lessons.grading.repairs.search import Found, find_slip
from lessons.grading.repairs.source import Source
from lessons.grading.repairs.structure import loops_otherwise, other_structure
from lessons.grading.repairs.tries import Tries
from lessons.grading.repairs.words import told_range
from lessons.grading.supervisor.worker_pool import WorkerPool
from lessons.grading.untrusted.submission import Submission
from tests.grading.grade import PATIENCE

RIGHT = '''
from numba import cuda, float32

SIZE = 16


@cuda.jit
def smooth(image, weights, result):
    """A docstring with weights * image is left alone."""
    tile = cuda.shared.array(SIZE, float32)
    x, y = cuda.grid(2)
    height, width = result.shape
    if x >= width or y >= height:
        return
    row = cuda.threadIdx.y + cuda.blockIdx.y * SIZE
    tile[x] = image[y, x, 0]
    cuda.syncthreads()
    total = float32(0)
    for k in range(0, width, 2):
        total += tile[k] * weights[k, y]
        cuda.syncthreads()
    scale = 1 - float32(0.25)
    if row == 0:
        scale = -scale
    cuda.atomic.add(weights, (y, x), total)
    result[y, x] = (total - weights[y, x]) * scale + max(total, float32(0))
'''

# A kind of slip: what stands in RIGHT, and what stands there with the slip.
SLIPS = {
    "comparison": ("row == 0", "row != 0"),
    "strict comparison": ("x >= width", "x > width"),
    "operator": ("* SIZE", "+ SIZE"),
    "number": ("image[y, x, 0]", "image[y, x, 1]"),
    "fraction": ("float32(0.25)", "float32(0.75)"),
    "letter": ("threadIdx.y", "threadIdx.x"),
    "block for thread": ("cuda.threadIdx.y", "cuda.blockIdx.y"),
    "order of indices": ("weights[k, y]", "weights[y, k]"),
    "indices moved on": ("image[y, x, 0]", "image[x, 0, y]"),
    "targets": ("x, y = cuda.grid(2)", "y, x = cuda.grid(2)"),
    "order of arguments": ("weights, (y, x), total", "total, (y, x), weights"),
    "pair": ("(y, x), total", "(x, y), total"),
    "condition": (" or ", " and "),
    "name": ("tile[k] *", "tile[y] *"),
    "array": ("total - weights[y, x]", "total - result[y, x]"),
    "sign": ("scale = -scale", "scale = scale"),
    "addition": ("total += tile", "total = tile"),
    "subtraction": ("total += tile", "total -= tile"),
    "atomic addition": ("cuda.atomic.add(weights, (y, x), total)", "weights[y, x] += total"),
    "function": ("max(", "min("),
    "end of a loop": ("range(0, width, 2)", "range(0, width + 1, 2)"),
    "beginning of a loop": ("range(0, width, 2)", "range(1, width, 2)"),
    "step of a loop": ("range(0, width, 2)", "range(0, width)"),
    "term too many": ("1 - float32(0.25)", "1 - float32(0.25) + total"),
    "factor too many": ("tile[k] * weights[k, y]", "tile[k] * weights[k, y] * scale"),
    "factor missing": ("(total - weights[y, x]) * scale", "(total - weights[y, x])"),
    "parentheses": ("(total - weights[y, x]) * scale", "(total - weights[y, x] * scale)"),
    "beginning of a sum": ("total = float32(0)", "total = float32(1)"),
    "one more": ("tile[k] *", "tile[k + 1] *"),
    "constant": ("blockIdx.y * SIZE", "blockIdx.y * 8"),
    "line too many": ("    tile[x] = image", "    x = x + 1\n    tile[x] = image"),
    "barrier missing": ("image[y, x, 0]\n    cuda.syncthreads()\n", "image[y, x, 0]\n"),
    "order of lines": (
        "    tile[x] = image[y, x, 0]\n    cuda.syncthreads()\n",
        "    cuda.syncthreads()\n    tile[x] = image[y, x, 0]\n",
    ),
    "into the loop": ("        cuda.syncthreads()\n", "    cuda.syncthreads()\n"),
    "out of the loop": ("    scale = 1 -", "        scale = 1 -"),
    "end": ("        return\n", "        continue\n"),
}  # fmt: skip


def slip(name):
    right, wrong = SLIPS[name]
    assert RIGHT.count(right) >= 1
    return RIGHT.replace(right, wrong, 1)


def shape_of(text):
    """What the text does, whatever its formatting."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node):
            del node.body[0]
    return ast.dump(tree)


@pytest.mark.slow
@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_is_among_the_changes(name):
    source = Source(slip(name))
    wanted = shape_of(RIGHT)
    tried = candidates(source, list(source.functions().values()))
    assert any(simple(shape_of(source.changed(change))) == simple(wanted) for change in tried)


def simple(shape):
    """-x and a constant -1 are the same number."""
    return shape and shape.replace("operand=Constant(value=1)", "1")


# ---------------------------------------------------------------- the search


def search(text, right=(), most=400):
    """What a search finds if only `RIGHT` passes, and the texts that it has run."""
    wanted, run = simple(shape_of(RIGHT)), []

    def passes(changed, sure):
        run.append(changed)
        return simple(shape_of(changed)) == wanted

    lines, small = Tries(passes, most), Tries(passes, most)
    return find_slip(text, "", list(right), ["smooth"], ["smooth"], lines, small), run


def line_of(text, part):
    return text[: text.index(part)].count("\n") + 1


def test_a_line_that_differs_from_ours_is_tried_first():
    text = slip("operator")
    found, run = search(text, [RIGHT])
    assert found.places[0].line == line_of(text, "row = ")
    assert "operator" in found.places[0].words
    assert len(run) <= 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["comparison", "order of indices", "addition", "name"])
def test_a_slip_is_found_without_a_solution(name):
    found, run = search(slip(name))
    wrong = SLIPS[name][1].strip()
    assert line_of(slip(name), wrong) in [place.line for place in found.places]
    assert len(run) <= 400


def test_no_more_texts_are_run_than_may_be():
    found, run = search(slip("constant"), most=10)
    assert found is None and len(run) == 10


def test_the_same_text_leads_to_the_same_place():
    first, second = (search(slip("sign"), [RIGHT.replace("total", "weight_sum")])[0] for _ in "ab")
    assert first == second


def test_names_of_ones_own_do_not_hide_the_slip():
    text = slip("comparison").replace("total", "weighted").replace("scale", "share")
    wanted = RIGHT.replace("total", "weighted").replace("scale", "share")
    found = find_slip(
        text, "", [RIGHT], ["smooth"], ["smooth"],
        Tries(lambda changed, sure: "row == 0" in changed and "row != 0" not in changed, 50), None,
    )  # fmt: skip
    assert [place.line for place in found.places] == [line_of(wanted, "if row")]


def test_a_file_that_is_no_python_is_not_searched():
    assert search("def smooth(:\n")[0] is None


def test_two_lines_in_each_others_place_are_told_as_an_order():
    text = RIGHT.replace("    tile[x] = image", "    row = 1\n    tile[x] = image")
    lines = "    total = float32(0)\n", "    first = float32(1)\n"
    right = text.replace(lines[0], lines[0] + lines[1] + "    third = total + first\n")
    wrong = text.replace(lines[0], "    third = total + first\n" + lines[1] + lines[0])

    def passes(changed, sure):
        return changed.index(lines[1].strip()) < changed.index("third")

    found = find_slip(
        wrong, "", [right], ["smooth"], ["smooth"], Tries(passes, 50), Tries(passes, 50)
    )
    assert found is not None and found.places[0].kind == "order of lines"


def test_a_line_that_does_the_work_of_wrong_ones_is_not_told():
    right = "def mean(a, b):\n    return (a + b) / 2\n"
    wrong = "def mean(a, b):\n    total = a + b\n    total = total / 3\n    return total\n"

    def passes(changed, sure):
        names = {}
        try:
            exec(changed, names)
            return names["mean"](4, 8) == 6 and names["mean"](1, 2) == 1.5
        except (NameError, SyntaxError, TypeError):
            return False

    found = find_slip(wrong, "", [right], ["mean"], ["mean"], Tries(passes, 50), Tries(passes, 200))
    assert [place.line for place in found.places] == [3]


def test_a_return_within_a_loop_is_tried_behind_it():
    text = "def total(a):\n    s = 0\n    for i in a:\n        s += i\n        return s\n"
    source = Source(text)
    tried = [source.changed(one) for one in candidates(source, list(source.functions().values()))]
    assert text.replace("        return s", "    return s") in tried


@pytest.mark.parametrize(
    "loop",
    [
        "        if i > 0:\n            return True\n        else:\n            return False\n",
        "        if i > 0:\n            return True\n    return False\n",
        "        if not (i <= 0):\n            return True\n    return False\n",
    ],
)
def test_a_loop_that_asks_for_one_is_tried_for_all(loop):
    source = Source(f"def all_positive(a):\n    for i in a:\n{loop}")
    right = []
    for one in candidates(source, list(source.functions().values())):
        names = {}
        exec(source.changed(one), names)
        try:
            found = [names["all_positive"](a) for a in ([1, 2], [1, -1], [-1, 1], [0])]
        except (NameError, TypeError):
            continue
        if found == [True, False, False, False]:
            right.append(one.words)
    assert "with the two answers exchanged, and the condition turned round" in right


def test_the_divisor_of_both_halves_of_a_division_is_tried_first():
    right = """
def place(pixel, width, height, image):
    row = pixel // width
    column = pixel % width
    return image[row, column] * height
"""
    wrong = right.replace("// width", "// height").replace("% width", "% height")
    source = Source(wrong)
    tried = candidates(source, list(source.functions().values()))
    texts = [source.changed(change) for change in tried]
    assert texts.index(right) < 10
    change = tried[texts.index(right)]
    assert change.line == 3 and "same in line 4" in change.words


def test_a_condition_in_the_place_of_another_is_one_change():
    right = "def fill(a, n):\n    if n >= size(a):\n        return\n    keep(a, n, 1)\n"
    wrong = right.replace("n >= size(a)", "rows * columns <= 3 + 4").replace(
        "keep(a, n, 1)", "pass"
    )

    def passes(changed, sure):
        return "size(a)" in changed

    found = find_slip(wrong, "", [right], ["fill"], ["fill"], Tries(passes, 50), None)
    assert [place.line for place in found.places] == [2]
    assert "condition" in found.places[0].kind


def test_many_lines_that_do_away_with_a_name_are_another_way():
    right = "def two(a, b):\n    row, column = both(a, b)\n    if row > a or column > b:\n"
    right += "        return\n    keep(row, column)\n"
    wrong = right.replace("row, column = both", "x, y = both").replace("row > a", "x > a")
    wrong = wrong.replace("column > b", "y > b")
    wrong = wrong.replace(
        "    keep",
        "    number = y * a + x\n    row = number // b\n    column = number % b\n    keep",
    )
    source = Source(wrong)
    compared = in_forms(source, source.functions()["two"], [Source(right)])[0]
    assert compared.drops_names(compared.differences)
    assert not compared.drops_names(compared.differences[:2])


def test_what_a_caller_hands_over_is_not_taken_for_another_name():
    right = """def steps(n, batch):
    return [(first, min(first + batch, n)) for first in range(0, n, batch)]
"""
    wrong = """def steps(n, batch):
    size = n // batch
    return [(first, min(first + size, n)) for first in range(0, n, size)]
"""

    def passes(text, sure):
        names = {}
        try:
            exec(text, names)
            return names["steps"](14, 5) == [(0, 5), (5, 10), (10, 14)]
        except (NameError, SyntaxError, TypeError, ValueError, ZeroDivisionError):
            return False

    found = find_slip(wrong, "", [right], ["steps"], ["steps"], Tries(passes, 50), None)
    assert [place.line for place in found.places] == [3]


NAMES = """def place(index, size):
    block = index // size
    offset = 0
    for part in range(block):
        offset += size + part
    return offset + index
"""


def passes_as_place(changed, sure):
    names = {}
    try:
        exec(changed, names)
        return [names["place"](index, 3) for index in (2, 4, 11)] == [2, 7, 23]
    except (NameError, SyntaxError, TypeError, ZeroDivisionError):
        return False


def search_as_place(wrong):
    tries = (Tries(passes_as_place, 50) for _ in range(2))
    return find_slip(wrong, "", [NAMES], ["place"], ["place"], *tries)


def test_a_name_that_is_computed_in_another_way_in_several_lines_is_told():
    wrong = NAMES.replace("    offset = 0\n", "").replace(
        "        offset += size + part\n", "        pass\n"
    )
    wrong = wrong.replace("    return", "    offset = block * size * 2\n    return")
    found = search_as_place(wrong)
    assert found.places == ((5, "name", "with `offset` computed in another way"),)


def test_lines_that_one_of_ours_replaces_are_told_and_not_a_line_behind_them():
    right = "def two(a):\n    low, high = both(a - 1)\n    return low * high\n"
    wrong = "def two(a):\n    low = a // 1\n    high = a + 1 * 2\n    return low * high\n"

    def passes(changed, sure):
        return "a - 1" in changed and changed.count("low") == 2

    found = find_slip(wrong, "", [right], ["two"], ["two"], Tries(passes, 50), None)
    assert found.places == ((2, "names", "with `high` and `low` computed in another way"),)


@pytest.mark.parametrize(
    "before, line, useless",
    [
        (["b = a"], "b = 3", True),
        (["b = a"], "b = b + 1", False),
        (["b = a", "c = b"], "b = 3", False),
        (["b = a", "for i in range(b):"], "b = 3", False),
    ],
)
def test_a_line_that_makes_others_useless_is_not_told_as_missing(before, line, useless):
    lines = [Line(1, text, number) for number, text in enumerate(before)]
    assert overwrites(Line(1, line, 9), lines) == useless


def test_a_line_is_tried_without_the_other_indentation():
    right = "def one(a, b):\n    if a >= b:\n        return\n    add(a, b, 1)\n"
    wrong = "def one(a, b):\n    if a < b:\n        inc(a, b, 1)\n"

    def passes(changed, sure):
        return changed in (right, wrong.replace("inc", "add"))

    found = find_slip(wrong, "", [right], ["one"], ["one"], Tries(passes, 50), None)
    assert [place.line for place in found.places] == [3]


def test_a_line_that_chooses_what_an_if_of_the_student_chooses_is_not_told():
    right = "def one(a, b):\n    a[0] = b if b > 0 else 0\n"
    wrong = "def one(a, b):\n    if b < 0:\n        a[0] = b\n    else:\n        a[0] = 0\n"

    def passes(changed, sure):
        return "b if b > 0 else 0" in changed or "b >" in changed

    found = find_slip(wrong, "", [right], ["one"], ["one"], *(Tries(passes, 99) for _ in "ab"))
    assert [place.line for place in found.places] == [2]


def test_a_whole_number_is_tried_times_a_constant_that_is_a_factor_elsewhere():
    text = "from sizes import TILE\n\n\ndef one(a, x, n):\n    t = n // 3\n"
    text += "    return a[t * TILE + x] * a[t + x]\n"
    source = Source(text)
    tried = [source.changed(one) for one in candidates(source, list(source.functions().values()))]
    assert text.replace("a[t + x]", "a[(t * TILE) + x]") in tried


def test_an_index_is_tried_that_the_array_has_elsewhere():
    text = "def one(tiles, layer, x):\n    tiles[layer % 2, x] = 1\n    return tiles[1, x]\n"
    source = Source(text)
    tried = [source.changed(one) for one in candidates(source, list(source.functions().values()))]
    assert text.replace("tiles[1, x]", "tiles[layer % 2, x]") in tried[:5]


def test_the_function_to_blame_is_told_if_no_line_is():
    other = "\n\ndef two(a):\n    return a\n"
    right = "def one(a):\n" + "".join(f"    a = step_{i}(a)\n" for i in range(5)) + other
    wrong = "def one(a):\n    return a ** 5\n" + other.replace("return a", "return +a")

    def passes(changed, sure):
        return all(f"step_{i}" in changed for i in range(5))

    lines, small = Tries(passes, 50), Tries(passes, 20)
    found = find_slip(wrong, "", [right], ["one", "two"], ["one", "two"], lines, small)
    assert found.places == () and found.function == "one"


def test_a_guard_around_all_is_no_difference():
    right = """def one(a, b, n):
    i = grid(1)
    if i >= n:
        return
    b[i] = 2 * a[i]
    a[i] = 0
"""
    wrong = (
        "def one(a, b, n):\n    k = grid(1)\n    if k < n:\n        b[k] = a[k]\n        a[k] = 0\n"
    )
    one = in_forms(Source(wrong), Source(wrong).functions()["one"], [Source(right)])[0]
    assert [(line.depth, line.text) for d in one.differences for line in d.new] == [
        (2, "b[k] = 2 * a[k]")
    ]


def test_a_line_for_each_name_is_no_difference():
    right = "def one(a, b):\n    c, d = a + 1, b * 2\n    return c * d + c + d\n"
    wrong = "def one(a, b):\n    c = a + 1\n    d = b\n    return c * d + c + d\n"
    one = in_forms(Source(wrong), Source(wrong).functions()["one"], [Source(right)])[0]
    assert [line.text for d in one.differences for line in d.new] == ["d = b * 2"]


def test_a_line_that_names_something_is_no_pair_of_a_call():
    right = "def one(a, b):\n    run[cover(a, 4), 4](a, b)\n"
    wrong = "def one(a, b):\n    blocks = cover(b, 4)\n    run[blocks, 4](a, b)\n"
    one = in_forms(Source(wrong), Source(wrong).functions()["one"], [Source(right)])[0]
    assert {d.place.line: len(d.new) for d in one.differences} == {2: 0, 3: 1}


def test_a_line_that_comes_back_in_another_form_is_told_where_it_stands():
    move = "p - 3 * m / (root(m * m) + 7)"
    averages = "    m = m + g\n    b = m\n"
    right = f"def one(p, m, g):\n{averages}    return {move}, b\n"
    wrong = f"def one(p, m, g):\n    p = {move}\n{averages}    return p, b\n"

    def passes(text, sure):
        return "p = p" not in text and f"{move}, b" in text

    found = find_slip(wrong, "", [right], ["one"], ["one"], Tries(passes, 50), None)
    assert [place.line for place in found.places] == [2, 5]
    assert found.places[0].words == "with this line further down, in another form"


@pytest.mark.parametrize(
    ("depth", "words"), [(1, "down, and further out"), (2, "down"), (3, "down, and further in")]
)
def test_a_line_that_moves_out_of_a_loop_is_told_to_go_further_out(depth, words):
    mine = [Line(2, "close(a)", 3), Line(2, "wait(a)", 4)]
    goes = Difference(Place(3, "line too many", "without this line"), (0,), 0, ())
    comes = Difference(
        Place(4, "line missing", "with a line"), (), 2, (Line(depth, "close(a)", 0),)
    )
    (moved,) = with_moves([goes, comes], mine)
    assert moved.place.words == f"with this line further {words}"


def test_a_call_too_many_is_left_out_as_a_whole():
    wrong = "def one(a):\n    load(a, 2)\n    move(a)\n    load(a + 1, 2)\n"

    def passes(text, sure):
        return "a + 1" not in text or "load(a + 1, 2)" not in text

    places = {place.line: place.words for place in found_with(wrong, [], passes).places}
    assert places[4] == "without this line"


def found_with(wrong, right, passes):
    lines, small = Tries(passes, 50), Tries(passes, 200)
    return find_slip(wrong, "", right, ["one"], ["one"], lines, small)


def test_what_every_right_function_has_is_told_of_a_function_without_a_known_place():
    ends = "    a = last(a)\n" * 4 + "    return a\n"
    inner = "        for j in i:\n            a = step(a, j)\n"
    right = f"def one(a):\n    for i in a:\n{inner}{ends}"
    wrong = "def one(a):\n    for i in a:\n        a = i\n    return a\n"

    def passes(text, sure):
        return text.count("last") == 4

    found = found_with(wrong, [right], passes)
    assert found.function == "one"
    assert found.structure == "loops in ours: two, one within the other; in this one: one loop"
    one_loop = f"def one(a):\n    for i in a:\n        a = step(i)\n{ends}"
    found = found_with(wrong, [right, one_loop], passes)
    assert found.structure == "ours calls `last`, and this one does not"


ONE_LOOP = "    for k in range(3):\n        a[k] = 0\n"
OVER_THE_GRID = """    step = cuda.gridsize(1)
    i = cuda.grid(1)
    while i < 9:
        for k in range(3):
            a[i, k] = 0
        i += step
"""
WITHIN = "    for i in range(3):\n        for k in range(3):\n            a[i, k] = 0\n"


@pytest.mark.parametrize(
    "mine, right, told",
    [
        (OVER_THE_GRID, [ONE_LOOP], ""),
        (ONE_LOOP, [OVER_THE_GRID, ONE_LOOP], ""),
        (ONE_LOOP, [OVER_THE_GRID] * 2, "ours: two, one within the other; in this one: one loop"),
        (WITHIN, [ONE_LOOP * 2], "ours: two, one after the other; in this one: two, one within"),
        (
            "    a[0] = 0\n",
            [ONE_LOOP * 3],
            "ours: three, one after the other; in this one: no loop",
        ),
        ("    a[0] = 0\n", [ONE_LOOP, WITHIN], "every right one has a loop, and this one has none"),
        (ONE_LOOP, [ONE_LOOP * 2], "ours: two, one after the other; in this one: one loop"),
        (ONE_LOOP * 2, [ONE_LOOP], ""),
        (ONE_LOOP, [ONE_LOOP * 2, WITHIN], ""),
        (WITHIN, [ONE_LOOP + WITHIN], "ours: three, of which two stand within each other;"),
    ],
)
def test_loops_are_counted_as_they_stand(mine, right, told):
    texts = [f"def one(a):\n{body}" for body in (mine, *right)]
    functions = [ast.parse(text).body[0] for text in texts]
    found = loops_otherwise(functions[0], functions[1:])
    assert told in found and bool(found) == bool(told)


def words_of(text, right=()):
    """new line -> the words of the change that makes it of the first line of `one`."""
    source = Source(f"def one(a, mean):\n    {text}\n")
    found = candidates(source, list(source.functions().values()), right=right)
    return {source.changed(change).splitlines()[1].strip(): change.words for change in found}


def test_what_is_left_out_is_told_and_nothing_is_multiplied_by_one():
    words = words_of("return a - mean")
    assert words["return a"] == "without `- mean`" and words["return mean"] == "without `a -`"
    words = words_of("return a + 1")
    assert words["return a"] == "without `+ 1`" and "return a * 1" not in words
    assert "return a * 2" in words_of("return a + 2")
    assert "return a * uint64(1)" not in words_of("return a - uint64(1)")
    assert "return a * sum(1)" in words_of("return a - sum(1)")


def test_another_function_is_one_that_right_files_call():
    text = "return cuda.atomic.add(a, 0, mean)"
    words = words_of(text, ["cuda.atomic.max(a, 0, 1)\n"])
    changed = [line for line in words if "atomic" in line and ".add" not in line]
    assert changed == ["return cuda.atomic.max(a, 0, mean)"]
    assert words[changed[0]] == "with `max` in place of `add`"
    assert "return cuda.atomic.min(a, 0, mean)" in words_of(text), "nothing right is known"


@pytest.mark.parametrize(
    "line, told",
    [
        ("x = b[0]", "ours calls `cuda.grid`, and this one does not"),
        ("x = cuda.blockIdx.x * 16 + cuda.threadIdx.x", ""),
    ],
)
def test_what_can_be_written_otherwise_is_no_call_that_is_missing(line, told):
    right = (
        "def one(a):\n    x = cuda.grid(1)\n    y = cuda.local.array(3)\n    a[x] = relu(y[0])\n"
    )
    mine = f"def one(a, b):\n    {line}\n    a[x] = max(b[0], 0)\n"
    functions = [ast.parse(text).body[0] for text in (mine, right)]
    assert other_structure(functions[0], functions[1:]) == told


def test_what_python_brings_along_is_no_call_that_is_missing():
    right = "def one(a):\n    b = list(a)\n    return any(b) or sum(b) or last(b)\n"
    mine = "def one(a):\n    return a[0]\n"
    functions = [ast.parse(text).body[0] for text in (mine, right)]
    assert (
        other_structure(functions[0], functions[1:]) == "ours calls `last`, and this one does not"
    )


def test_a_loop_that_counts_for_itself_is_told_only_where_ours_uses_its_counter():
    def text(counter, factor):
        return f"def one(a):\n    for {counter} in range(3):\n        a *= {factor}\n    return a\n"

    def told(right):
        mine, ours = (Source(one).functions()["one"] for one in (text("k", "2"), right))
        return other_structure(mine, [ours])

    assert told(text("_", "3")) == ""
    assert "`k`" in told(text("k", "k"))


def test_what_a_function_does_not_use_is_told_and_tried_first():
    text = "def one(a, b, n):\n    c, d = a * 2, a + 1\n    return a + c + d + n\n"
    ((_, function),) = Source(text).functions().items()
    assert other_structure(function, [function]) == ""
    used = ast.parse(text.replace("n\n", "b\n")).body[0]
    assert "`b` is handed to it" in other_structure(function, [used])
    first = candidates(Source(text), [function])[0]
    assert "b" in first.new


def test_a_condition_that_nobody_needs_is_told_as_that():
    wrong = "def one(a):\n    b = 0\n    if a != 0:\n        b = 3\n    return b\n"

    def passes(text, sure):
        names = {}
        exec(text, names)
        try:
            return [names["one"](a) for a in (0, 5, -2)] == [3, 3, 3]
        except UnboundLocalError:
            return False

    found = found_with(wrong, [], passes)
    assert [place.words for place in found.places if place.line == 3] == ["without this condition"]


def test_names_for_parts_are_no_difference():
    right = """def one(a, box):
    height, width = box.shape
    half, other = width // 2, a + 1
    for i in range(half):
        a = step(a, other, box.items)
    half = height // 3
    return a * half
"""
    wrong = """def one(a, box):
    for i in range(box.shape[1] // 2):
        a = step(a, a, box.items)
    return a * (box.shape[0] // 3)
"""
    one = in_forms(Source(wrong), Source(wrong).functions()["one"], [Source(right)])[0]
    assert [line.text for d in one.differences for line in d.new] == [
        "other = a + 1",
        "a = step(a, other, box.items)",
    ]


# ---------------------------------------------------------------- a check


@pytest.fixture(scope="module")
def workers():
    pool = WorkerPool()
    yield pool
    pool.stop()


def run_with(workers, text, number, check, effort):
    lesson = find_lesson(number)
    submission = Submission(Path("exercise.py"), text.encode())
    return run_check(
        checks_of(lesson)[check], lesson, lesson.check(check), submission, workers, 5, PATIENCE,
        draw=False, effort=effort,
    )  # fmt: skip


END_TO_END = {
    ("2", "overlap"): ("texel * cells", "texel + cells"),
    ("3", "pixel_centres"): ("first_pixel + sample", "first_pixel - sample"),
    ("5", "naive"): ("total = float32(0)", "total = float32(2)"),
}


@pytest.mark.parametrize(
    "number, check",
    [
        pytest.param(*case, marks=pytest.mark.thorough if number else pytest.mark.slow)
        for number, case in enumerate(END_TO_END)
    ],
)
def test_a_failed_check_names_the_line_and_gives_no_points_for_it(number, check, workers):
    right, wrong = END_TO_END[number, check]
    text = solution_text(find_lesson(number))
    assert right in text
    text = text.replace(right, wrong, 1)
    without, found = (
        run_with(workers, text, number, check, effort) for effort in (NO_EFFORT, FULL_EFFORT)
    )
    assert found.status == "failed" and found.score == 0
    assert (found.status, found.diagnosis) == (without.status, without.diagnosis)
    assert f"look at line {line_of(text, wrong)}: with " in found.message
    assert "look at" not in without.message


@pytest.mark.thorough
def test_a_check_that_passes_is_not_searched(workers):
    text = solution_text(find_lesson("2"))
    assert run_with(workers, text, "2", "overlap", FULL_EFFORT).message == ""


def test_names_that_are_exchanged_tell_all_lines():
    lines = (
        "def f(a, i, j):",
        "    if i > 3 or j > 2:",
        "        return",
        "    x = a[i]",
        "    y = a[j]",
    )
    source = Source("\n".join(lines))
    words = {change.words for change in candidates(source, list(source.functions().values()))}
    assert "with `j` and `i` exchanged here and in lines 4 and 5" in words


def test_a_change_of_one_line_is_told_before_one_of_several():
    places = [
        Place(4, "names", "with `i` and `j` exchanged here and in lines 5 and 6"),
        Place(9, "", ""),
    ]
    assert sorted(places, key=is_in_several_lines)[0].line == 9
    assert is_one_place(places[1:]) and not is_one_place(places)
    assert not is_one_place([Place(1, "names", "with `x` and `y` computed in another way")])


@pytest.mark.parametrize(
    "mine, ours, words",
    [
        ("for k in range(bins):", "for k in range(tid, bins, 256):", "a beginning and a step"),
        ("for k in range(bins):", "for k in range(1, bins):", "if `range` has a beginning, too"),
        ("for k in range(bins):", "for k in range(tid, n, 256):", ""),
        ("for k in range(0, bins):", "for k in range(tid, bins, 256):", ""),
    ],
)
def test_a_range_that_needs_a_beginning_or_a_step_is_told_as_that(mine, ours, words):
    told = told_range(mine, ours)
    assert words in told and bool(words) == bool(told)


def test_a_function_is_not_told_where_the_mistake_and_the_call_say_as_much():
    message = "launch_smooth(array (9,)) on the checked simulator\nmean: add them up"
    one: Any = None  # of the lesson nothing is asked here
    failure = Failure(one, one, one, one, 0, "mean", message)
    assert not failure.takes(Found((), False, "smooth"))
    assert failure.takes(Found((), False, "block_sum"))
    assert failure.takes(Found((), False, "smooth", helpers=("part",)))
    assert failure._replace(diagnosis="wrong").takes(Found((), False, "smooth"))
