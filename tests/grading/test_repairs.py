"""The search for a slip: which small changes it tries, and what it says of the one that passes."""

import ast
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lessons.course.exercises import solution_text
from lessons.course.lesson import find_lesson
from lessons.grading.explain.repairs.numbers import Numbers, by_numbers, span_of
from lessons.grading.explain.repairs.search import Found, Tries, candidates, find_slip, suspects
from lessons.grading.judge.explain_failure import FULL_EFFORT, NO_EFFORT, Failure
from lessons.grading.judge.run import checks_of, run_check
from lessons.grading.judge.worker_pool import WorkerPool
from lessons.grading.walls.submission import Submission
from lessons.mutations.source import Source
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
def test_a_failed_check_names_the_line_and_gives_no_points_for_it(
    number, check, workers, monkeypatch
):
    # Such a change is a generated mistake, too, which has a sentence; here nothing is known.
    monkeypatch.setattr("lessons.grading.judge.recorded.read", lambda lesson: ())
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


# A function with one slip, and the line without it, as the lines beside it show.
BESIDE = {
    "(y, x, ky, kx, s):\n row = y * s + ky - 1\n column = x + kx - 1\n return row, column":
    "column = (x * s + kx - 1)",
    "(a, p, ky, kx):\n up = a[1] * 2 + p + ky\n left = a[2] * 2 - p + kx\n return up, left":
    "up = (a [ 1 ] * 2 - p + ky)",
    "(f, y, x, h, w):\n a = f(y * w + x)\n b = f(y * h + x)\n c = f(w * w + x)\n return a, b, c, h":
    "b = f(y * w + x)",
    "(a, y, step, pad):\n return at(a, y + 1, pad, step)\n\ndef at(b, k, step, pad):\n return b[k]":
    "at(a, y + 1, step, pad)",
}  # fmt: skip


# The same of slips that have a shape of their own, or that another line tells.
OFTEN = {
    "(a, b, y, x, k, n):\n wy, wx = y // n, x // n\n return a[wy, wx, k] + b[y, x, k]":
    "b[wy, wx, k]",
    "(a, y, x, k, n):\n wy, wx = y // n, x // n\n return look(a, y, x, k) + wx": "(a, wy, wx, k)",
    "(a, i, f, n):\n c = i * n + f\n return a[f], c": "a[(i * n + f)]",
    "(a, k, K, ky, kx):\n return a[K - 1 - ky, K - 1 - kx, k]": "a[ky, kx, k]",
    "(a, bias, f):\n return bias[0] + a[f]": "bias[f]",
    "(a, n):\n i = cuda.grid(1)\n t = cuda.threadIdx.x\n if i < n:\n  a[i] = t": "a[t] = t",
    "(a):\n t = cuda.threadIdx.x\n for i in range(t, a.size):\n  a[i] = t":
    "range(t, a.size, BLOCK_THREADS)",
    "(a, n):\n for i in range(0, n, DEPTH):\n  for k in range(DEPTH):\n   a[i + k] = 0":
    "range(min(DEPTH, n - i))",
    "(a, n):\n m = n // 8\n for i in range(m):\n  a[i] = n": "((n + 8 - 1) // 8)",
    "(a, n):\n best = -1\n at = 0\n for i in range(n):\n  if a[i] > best:\n   at = i\n return at":
    "best = a[i]",
    "(a, b, n, p):\n s = 0\n for j in range(n):\n  s += a[p] - b[j]\n return s": "a[(p + j)]",
    "(a, n):\n for i in range(n):\n  s = 0\n  s += a[i]\n return s": " s = 0\n for i",
    "(a, q):\n n = q\n for i in range(n):\n  a[i] = n": "n = (q + 1)",
    "(a, n):\n for i in range(4):\n  q = cuda.threadIdx.x * 4\n  a[i] = q < n":
    "(cuda.threadIdx.x * 4 + i)",
    "(a, y, x):\n p = a[y, x]\n q = a[y, x + 1]\n r = a[y, x + 1]\n return p + q * r":
    "r = a[y, (x + 1 + 1)]",
    "(a, b, n):\n i = cuda.blockIdx.x * 8\n for j in range(n):\n  b[j] = a[j]": "a[(i + j)]",
    "(a, b, t, x, j):\n y = t + x + j * 8\n return a[x * 4 + j], b[y]": "a[(x + j * 8)]",
    "(a, b, y, s, p, k):\n row = y * s + p - k\n return a[row] + b[y]": "((y * s) - p + k)",
    "(a, x, n):\n c = x * float32(n)\n return a[int32(c)]": "(x * float32(n) - float32(0.5))",
    "(a, n):\n m = n // 3\n for i in range(m):\n  a[i] = n": "m = (n)",
}  # fmt: skip


@pytest.mark.parametrize(
    "body, right, among",
    [(*slip, 2) for slip in BESIDE.items()] + [(*slip, 25) for slip in OFTEN.items()],
)
def test_what_the_lines_beside_it_show_or_is_often_wrong_is_tried_early(body, right, among):
    source = Source(f"def g{body}\n")
    tried = candidates(source, list(source.functions().values()))[:among]
    assert any(right in source.changed(one) for one in tried)


@pytest.mark.parametrize(
    "body, told, right",
    [
        ("(a, n):\n if n < 9:\n  return a[n, 2]", "line 3: out-of-bounds: a[0, 2] is outside its "
         "shape (1, 2): axis 1 has only", "if 0 <= 2 < a.shape[1] and (n < 9):"),
        ("(a, n):\n a[n] = 1", "line 2: out-of-bounds: a[-1] is outside its shape (4,): index -1 "
         "of axis 0", "if 0 <= n < a.shape[0]: a[n] = 1"),
        ("(a, b, k, n_rows, n_cols):\n w = b[k, 1] * b[n_rows, 2] + b[n_cols, 3]\n"
         " p = k // n_rows\n y = p - 1\n a[y, k % n_cols] = b[k, 0] * w", "line 5: out-of-bounds: "
         "a[9, 0] is outside its shape (4, 9): axis 0 has only", "p = k // n_cols"),
        ("(a, n):\n m = n + 1\n return a * 8", "constant factor: Every value is twice", "a * 4"),
    ],
)  # fmt: skip
def test_what_a_message_speaks_of_is_tried_first(body, told, right):
    source = Source(f"def g{body}\n")
    tried = candidates(source, list(source.functions().values()), told=told)[:20]
    assert any(right in source.changed(one) for one in tried)


def computed_by_three(text, beside):
    """What three threads compute in a function of assignments, as a worker tells it."""
    names = {"a": np.array([1.0, 2, 3]), "b": np.array([0.5, 7, 2]), "c": np.array([4.0, 1, 6])}
    rows = []
    for line in ast.parse(text).body[0].body:
        span, value = span_of(line.value), eval(ast.unparse(line.value), {}, names)
        rows.append(((*span, 1), value))
        for number, (at, other) in enumerate(beside):
            with suppress(Exception), np.errstate(all="ignore"):  # a name that is not known
                if at == span:
                    rows.append(((number, 0, 0, -1, 1), eval(other, {}, names) + 0.0))
        names[line.targets[0].id] = value
    return Numbers([span for span, _ in rows], np.array([value for _, value in rows]))


@pytest.mark.parametrize("slip", ["p * a", "(p - b) * c", "p - c", "p * c"])
def test_a_change_whose_numbers_a_right_file_has_is_tried_first(slip):
    text = "def f(a, b, c):\n p = a + b\n q0 = p / c\n q = {}\n r = q - a\n s = r * b\n"
    source, right = Source(text.format(slip)), text.format("p * c")
    functions = list(source.functions().values())
    changes = candidates(source, functions)
    ordered, line = by_numbers(changes, source, functions, [right], computed_by_three)
    first = source.changed(ordered[0]).replace("(p)", "p").replace("(c)", "c")
    if slip == "p * c":  # nothing is strange
        assert (ordered, line) == (changes, 0)
    else:
        assert (first, line) == (right, 4)


def test_no_name_is_tried_before_it_has_a_value():
    source = Source("def f(a, b):\n    c = a + b\n    d = c + b\n    return d\n")
    tried = {
        one.new for one in candidates(source, list(source.functions().values())) if one.line == 2
    }
    assert "b" in tried and not {"c", "d"} & tried and "c += a + b" not in tried


@pytest.mark.parametrize(
    "vain", ["a[s * 2]", "a[n / 2]", "range((i + s))", "threadIdx.z", "grad.shared", "range + i"]
)
def test_what_can_only_fail_is_not_tried(vain):
    source = Source(
        "def f(a, grad, n):\n    tile = cuda.shared.array(8, float32)\n    s = float32(0)\n"
        "    i = cuda.threadIdx.x\n    for k in range(i):\n        s += a[n * 2] * grad.shape[0]\n"
    )
    tried = [source.changed(one) for one in candidates(source, [*source.functions().values()])]
    assert len(tried) > 100 and not any(vain in text for text in tried)


def test_who_no_longer_calls_the_function_to_blame_is_not_searched():
    text = "def part(a, b):\n    return a - b\n\n\ndef whole(a, b):\n    return part(a, b)\n"
    right = "def part(a, b):\n    return a + b\n\n\ndef whole(a, b):\n    return a + b\n"

    def passes(changed, sure):
        exec(changed, names := {})
        return names["whole"](2, 3) == 5

    tries = (Tries(passes, 50) for _ in "ab")
    found = find_slip(text, "", [right], ["whole", "part"], ["whole", "part"], *tries)
    assert [place.line for place in found.places] == [2]


def test_only_what_a_check_runs_is_searched():
    text = "def one(a):\n    return part(a)\n\n\ndef part(a):\n    return a\n\n\n"
    text += "def other(a):\n    return own(a)\n\n\ndef own(a):\n    return a\n"
    found = suspects(Source(text), Source(""), ["one"], ["one", "other"])
    assert [node.name for node in found] == ["one", "part"]


def test_a_function_is_not_told_where_the_mistake_and_the_call_say_as_much():
    message = "launch_smooth(array (9,)) on the checked simulator\nmean: add them up"
    one: Any = None  # of the lesson nothing is asked here
    failure = Failure(one, one, "mean", message)
    assert not failure.takes(Found((), False, "smooth"))
    assert failure.takes(Found((), False, "block_sum"))
    assert failure.takes(Found((), False, "smooth", helpers=("part",)))
    assert failure._replace(diagnosis="wrong").takes(Found((), False, "smooth"))


MINE = "def one(a, n):\n    total = 0\n    for i in range(n):\n        total += a[i] - 1\n{}"


@pytest.mark.parametrize(
    "mine, right, line, words",
    [
        ("    return total\n", "    return total + n\n", 5, "another expression"),
        ("    return total < n\n", "    return total <= n\n", 5, "comparison in the place of `<`"),
        ("    n = 2\n    return total\n", "    return total\n", 5, "without this line"),
        ("    return total\n", "    total *= n\n    return total\n", 4, "one more line behind"),
    ],
)
def test_a_line_of_a_right_one_is_told_without_its_text(mine, right, line, words):
    text, wanted = MINE.format(mine), MINE.format(right)
    lines = Tries(lambda changed, sure: shape_of(changed) == shape_of(wanted), 20)
    (place,) = find_slip(text, "", [wanted], ["one"], ["one"], lines, None).places
    assert place.line == line and words in place.words
