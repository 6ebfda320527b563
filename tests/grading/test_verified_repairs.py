"""A change that passes the failed check is told only if the function's other checks agree."""

import ast
from pathlib import Path

import pytest

from lessons.course.lesson import find_lesson
from lessons.grading.checks.changed_texts import OtherChecks, checks_beside
from lessons.grading.checks.explain import (
    TOLD_BY_BLOCKS,
    Failure,
    says_nothing,
    suspected,
    told,
)
from lessons.grading.checks.result import Result
from lessons.grading.checks.run import checks_of
from lessons.grading.checks.waiting import passed_functions
from lessons.grading.repairs.differences import TOO_MANY, Place
from lessons.grading.repairs.fewer_words import with_fewer_changes
from lessons.grading.repairs.lines import Line
from lessons.grading.repairs.names import which_one
from lessons.grading.repairs.scope import Scope
from lessons.grading.repairs.search import Found, find_slip
from lessons.grading.repairs.tries import Held, Tries
from lessons.grading.repairs.words import told_change, told_difference, told_missing

RIGHT = """def place(i, n):
    if i >= n:
        return -1
    return i + 1
"""
WRONG = RIGHT.replace("i + 1", "i + 2")


def answers(text, calls):
    names = {}
    try:
        exec(text, names)
        return [names["place"](*call) for call in calls]
    except (IndexError, NameError, SyntaxError, TypeError):
        return None


def search(text, failed, others, right=()):
    """failed: the calls of the failed check, others: those of others -> what should come."""

    def passes(changed, sure=False):
        return answers(changed, failed) == list(failed.values())

    def held(changed):
        return Held.ALL if answers(changed, others) == list(others.values()) else worst

    worst = Held.BREAKS if answers(text, others) == list(others.values()) else Held.SOME
    tries = (Tries(passes, 300) for _ in "ab")
    return find_slip(text, "", list(right), ["place"], ["place"], *tries, held)


def test_a_change_that_breaks_another_check_is_not_told():
    inside, behind = {(1, 5): 2, (3, 5): 4}, {(5, 5): -1, (9, 5): -1}
    alone = search(WRONG, inside, {})
    assert alone.places[0].line == 4
    # Without the right answer within reach, only a change that spoils the guard passes.
    far = "def place(i, n):\n    if i >= n:\n        return -1\n    return 7\n"
    only_by_luck = {(1, 5): -1}
    assert search(far, only_by_luck, {}) is not None
    assert search(far, only_by_luck, {(2, 5): 7, (0, 5): 7, **behind}) is None


def test_of_several_changes_the_one_after_which_all_checks_pass_is_told():
    # Of 1, `i * 2`, `n - 3` and others make 2, too.
    failed, others = {(1, 5): 2}, {(2, 5): 3, (4, 9): 5, (0, 5): 1, (5, 5): -1}
    alone, together = search(WRONG, failed, {}), search(WRONG, failed, others)
    assert [(place.line, place.kind) for place in together.places] == [(4, "number")]
    assert not together.partly and len(alone.places) > 1


@pytest.mark.parametrize("right", [(), (RIGHT,)])
def test_two_mistakes_are_no_reason_to_be_silent(right):
    text = WRONG.replace("return -1", "return n")
    found = search(text, {(1, 5): 2, (3, 5): 4}, {(2, 5): 3, (5, 5): -1}, right)
    assert found.places[0].line == 4


def test_of_lines_that_may_be_left_out_no_part_is_told_besides():
    wrong = """def place(i, n):
    total = [n, 0]
    if i == 1:
        total[0] = 0
    return 10 * i + total[0]
"""
    found = search(wrong, {(1, 5): 15, (1, 2): 12}, {(2, 3): 23, (4, 9): 49, (1, 7): 17})
    assert [place.line for place in found.places] == [3]


# ---------------------------------------------------------------- which checks are asked


class Run:
    """Stands for `changed_texts.Runner`: what each check says of each text."""

    def __init__(self, lesson, ended):
        self.lesson, self.path, self.pool = lesson, Path("exercise.py"), None
        self.ended = ended
        self.asked = []

    def run(self, function, check, text, seed, until, quick):
        self.asked.append((check.name, text))
        return self.ended.get((check.name, text), "")


def others(ended, failed="grid", **limits):
    lesson = find_lesson("7")
    run = Run(lesson, ended)
    functions = {check.name: None for check in lesson.checks}
    limits = {"most": 20, "seconds": 60.0, "longest": 3.0, **limits}
    return OtherChecks(run, functions, lesson.check(failed), "mine", 5, **limits), run


def test_all_other_checks_of_the_function_are_asked_and_no_others():
    checks, run = others({})
    assert checks.held("changed") == Held.ALL
    names = [name for name, _ in run.asked]
    assert {"loss", "last_layer", "all_layers"} <= set(names)
    assert not {"grid", "relu_backward", "add_weight_gradients"} & set(names)
    assert checks.held("changed") == Held.ALL and len(run.asked) == len(names)


@pytest.mark.parametrize(
    "changed, mine, held",
    [
        ("", "", Held.ALL),
        ("wrong", "", Held.BREAKS),
        ("wrong", "wrong", Held.SOME),
        ("race", "wrong", Held.SOME),
        ("slow", "", Held.BREAKS),
        ("slow", "wrong", Held.ALL),  # double precision is told by its line
        ("endless or too slow", "", Held.ALL),  # there was no time for it
    ],
)
def test_what_another_check_says_of_a_change(changed, mine, held):
    checks, _ = others({("loss", "changed"): changed, ("loss", "mine"): mine})
    assert checks.held("changed") == held


def test_a_check_of_more_functions_may_fail_for_another_one():
    fails = {(name, text): "wrong" for name in ("weights", "grid") for text in ("changed", "mine")}
    lesson = find_lesson("8")
    run = Run(lesson, fails)
    functions = {check.name: None for check in lesson.checks}
    checks = OtherChecks(run, functions, lesson.check("one_step"), "mine", 5, 20, 60.0, 3.0)
    assert checks.held("changed") == Held.ALL


@pytest.mark.parametrize("limits", [{"most": 0}, {"seconds": 0.0}])
def test_a_change_is_not_doubted_when_there_is_no_time_to_ask(limits):
    checks, run = others({("loss", "changed"): "wrong"}, **limits)
    assert checks.held("changed") == Held.ALL and not run.asked


def test_the_checks_of_a_file_are_found_beside_one_of_them():
    functions = checks_of(find_lesson("1"))
    assert checks_beside(functions["luminance"]) == functions


# ---------------------------------------------------------------- no more than has to change


def found_with(wrong, right, cases):
    """What is told of the one function `f`, of which `cases` are calls -> what should come."""

    def passes(text, sure):
        names = {"pair": lambda a: (a, a + 1)}
        try:
            exec(text, names)
            return all(names["f"](*call) == came for call, came in cases.items())
        except (IndexError, NameError, SyntaxError, TypeError):
            return False

    return find_slip(wrong, "", [right], ["f"], ["f"], Tries(passes, 50), None)


WEIGHTS = {(2, 3): (2, -4, -3, 6), (5, 1): (0, 0, -4, 5)}
MINE = """def f(x, y):
    both = x * y
    right = x - both
    below = y - both
    return 1 - x - y{more}, right, below, both
"""
OURS = """def f(x, y):
    both = x * y
    return 1 - x - y + both, x - both, y - both, both
"""


def test_of_a_line_only_what_has_to_change_is_told():
    found = found_with(MINE.format(more=""), OURS, WEIGHTS)
    assert [(place.line, place.words) for place in found.places] == [(5, "with one more term")]
    assert not found.anew


def test_lines_that_compute_all_anew_are_no_repair():
    wrong = """def f(a, b):
    total = 0
    for i in range(a):
        total += i * b
    mean = total / a
    return mean + b
"""
    right = "def f(a, b):\n    squares = a * (a - 1) / 2 * b * b\n    return squares / a + b\n"
    # With both lines of ours it passes, and nothing then uses `mean`.
    found = found_with(wrong, right, {(2, 5): 17.5, (3, 4): 20.0})
    assert not found.places and found.function == "f"


def test_a_line_that_does_without_another_is_told_as_that():
    wrong = "def f(a, b):\n    mean = a + b\n    return mean * 3\n"
    found = found_with(wrong, "def f(a, b):\n    return abs(a - b) * 3\n", {(1, 5): 12, (3, 1): 6})
    assert found.anew
    (line, _) = told(found, wrong.splitlines())
    assert line.endswith("; but nothing then uses line 2: the mistake may be there")
    again = wrong.replace("    return", "    mean = mean\n    return")  # is used, but for nothing
    right = "def f(a, b):\n    return abs(a - b) * 3\n"
    assert found_with(again, right, {(1, 5): 12, (3, 1): 6}).idle == (2, 3)
    other = found_with(wrong, "def f(a, b):\n    return b * 3\n", {(1, 5): 15, (3, 1): 3})
    assert other.places[0].line == 3 and not other.anew
    divided = "def f(a, b):\n    mean = a + b\n    return a * 3 / mean\n"
    removed = found_with(divided, "def f(a, b):\n    return a * 3\n", {(1, 5): 3, (3, 1): 9})
    assert removed.places[0].line == 3 and not removed.anew


def test_a_line_that_is_right_beside_right_lines_is_not_told():
    # The mistake is `n`; with `/ a` the last line makes up for it, and is as right with `/ n`.
    wrong = """def f(a, b):
    n = a * 2
    c = n - a + b
    return c * b / n
"""
    right = "def f(a, b):\n    n = a\n    c = n + b\n    return c * b / a\n"
    found = found_with(wrong, right, {(1, 5): 30, (2, 3): 7.5})
    assert found is None or 4 not in [place.line for place in found.places]


def test_lines_that_are_another_way_to_do_it_all_are_not_told():
    wrong = """def f(n):
    half = n // 2
    out = [0] * n
    for i in range(half):
        out[i] = i + 1
        out[i + half] = i + half + 1
    return out
"""
    right = """def f(n):
    out = [0] * n
    for i in range(n):
        out[i] = i + 1
    return out
"""
    found = found_with(wrong, right, {(4,): [1, 2, 3, 4], (5,): [1, 2, 3, 4, 5]})
    assert found is None or not found.places


def test_a_line_without_the_helper_that_is_wrong_is_no_repair():
    wrong = """def twice(a):
    return a + 2


def f(a, b):
    return twice(a) + b
"""
    found = found_with(wrong, "def f(a, b):\n    return a * 2 + b\n", {(1, 5): 7, (3, 4): 10})
    assert not found.places and (found.function, found.helpers) == ("f", ("twice",))
    assert "look at `f`, or at what it calls (`twice`): " in told(found, wrong.splitlines())[0]


def test_all_lines_of_an_if_are_shown_that_are_too_many():
    lines = ["def f(a):", "    if a > 1:", "        a = 0", "", "    b = 2", "    return a + b"]
    too_many = Found((Place(2, "condition", "without these lines"),), False)
    assert told(too_many, lines)[1:] == ["  2 | if a > 1:", "  3 | a = 0"]
    another = Found((Place(2, "comparison", "with another comparison"),), False)
    assert told(another, lines)[1:] == ["  2 | if a > 1:"]


def test_of_a_name_that_a_line_has_twice_is_told_which_one():
    scope = Scope(ast.parse("def f(a, bc, bd):\n    return bc + a[bc]").body[0], set())
    names = [node for node in scope.nodes if getattr(node, "id", "") in ("a", "bc")]
    assert [which_one(name, scope) for name in names] == [
        "the first `bc`",
        "`a`",
        "the second `bc`",
    ]


def test_only_names_of_the_students_file_are_told():
    wrong = "def f(a):\n    words = pair(a)\n    u = words[0] + words[1]\n    return u * 2\n"
    right = "def f(a):\n    first, second = pair(a)\n    return first * 2\n"
    (place,) = found_with(wrong, right, {(1,): 2, (3,): 6}).places
    assert place.words == "with `u` computed in another way"


@pytest.mark.parametrize(
    "mine, ours, fewer",
    [
        ("a = b + 1", "a = b - 1", []),
        ("a = b + x[0]", "a = c + x[1]", ["a = b + x[1]", "a = c + x[0]"]),
        ("for i in range(n):", "for j in range(m):", ["for i in range(m):", "for j in range(n):"]),
        ("if a > b:", "if a >= c:", ["if a > c:", "if a >= b:"]),
        ("return a", "return (b + 1)", []),
    ],
)
def test_a_line_with_a_part_of_its_changes(mine, ours, fewer):
    lines = (Line(1, text, 3) for text in (mine, ours))
    assert [line.text for line in with_fewer_changes(*lines)] == fewer


@pytest.mark.parametrize("known, words", [({"total"}, "which changes `total`"), ({"sum"}, "")])
def test_a_line_that_is_missing_is_told_without_names_of_ours(known, words):
    line, above = Line(1, "total = a + 1", 4), Line(1, "b = 2", 3)
    told_words = f"with one more line behind it{', ' if words else ''}{words}"
    assert told_missing(line, above, known) == ("line missing", told_words)


def test_a_line_that_is_missing_behind_a_loop_is_told_so():
    line, above = Line(1, "add(total)", 4), Line(2, "keep(b)", 3)
    _, told_words = told_missing(line, above, {"add"})
    assert told_words == (
        "with one more line behind the `if` or the loop that ends with it, a call of `add`"
    )


@pytest.mark.parametrize("known, words", [({"partial"}, ", a call of `partial`"), ({"draw"}, "")])
def test_a_call_that_is_missing_is_told_if_the_student_knows_its_name(known, words):
    line, above = Line(1, "partial(draw, a)(b)", 4), Line(1, "b = 2", 3)
    _, told_words = told_missing(line, above, known)
    assert told_words == f"with one more line behind it{words}"


def test_an_if_that_goes_alone_is_told_with_the_lines_below_it():
    wrong = """def f(n):
    total = 0
    for i in range(n):
        total += i
    if n:
        total += 1
    return total
"""
    right = wrong.replace("    if n:\n", "")
    (place,) = found_with(wrong, right, {(2,): 3, (3,): 6}).places
    assert place.line == 5 and "with those below it in the block above" in place.words


# ---------------------------------------------------------------- what says more than the message


LINE = Found((Place(3, "name", "with another name"),), False)
LINES = Found((Place(3, "name", "so"), Place(5, "name", "and so")), True)
TERMS = Found(
    (Place(3, "term", "with one more term"), Place(5, "term", "with one more term")), True
)
REMOVED = Found((Place(3, TOO_MANY, "without this line"),), False)
FUNCTION = Found((), False, "f")
VALUES = "f(1)\n3 of 4 elements of x are wrong (allowed: 0; none)\n"


@pytest.mark.parametrize(
    "diagnosis, message, found, takes",
    [
        ("wrong", VALUES, LINES, True),
        ("wrong", VALUES, FUNCTION, True),
        ("of another index", VALUES, LINES, True),
        ("bias forgotten", VALUES, LINE, True),
        ("bias forgotten", VALUES, LINES, False),  # the mistake has a name, and no more than that
        ("bias forgotten", VALUES, LINE._replace(anew=True), False),
        ("wrong", VALUES, LINE._replace(anew=True), True),
        ("nan", VALUES, LINE._replace(anew=True), False),  # other numbers, of which none overflows
        ("nan", VALUES, LINE, True),
        ("a wrong one passes", "f(1)\nso: it does", LINE._replace(anew=True), False),
        ("a wrong one passes", "f(1)\nso: it does", LINES, True),
        ("inexact", "f(1)\nso: it is", TERMS, False),  # what makes up for one line elsewhere
        ("wrong", "f(1)\nso: it is", TERMS, True),
        ("bias forgotten", VALUES, LINE._replace(partly=True), False),
        ("wrong", VALUES, LINE._replace(partly=True), True),
        ("race", "f(1)\nline 3: race: so", LINES, True),
        ("race", "f(1)\nline 3: race: so", FUNCTION, False),  # it has a line
        ("unsynchronised", "f(1)\nline 3: unsynchronised: so", LINES, True),
        ("unsynchronised", "f(1)\nline 3: unsynchronised: so", REMOVED, False),
        ("out-of-bounds", "f(1)\nline 3: out-of-bounds: so", FUNCTION, False),
        ("tail not written", f"f(1)\nso: {TOLD_BY_BLOCKS}", LINE, False),
        ("tail not written", "f(1)\nso: it does", LINE, True),
        ("added pixel by pixel", "f(1)\nso: it does\n  3 | a[i] = 1", FUNCTION, False),
    ],
)
def test_what_is_found_is_told_if_it_says_more(diagnosis, message, found, takes):
    lesson = find_lesson("1")
    failure = Failure(None, lesson, lesson.checks[0], None, 1, diagnosis, message)
    assert failure.takes(found) == takes


def test_a_helper_of_a_function_that_has_passed_is_not_suspected():
    text = "def one(a):\n    return help(a)\n\n\ndef two(a):\n    return help(a) + more(a)\n"
    assert suspected(("help", "more"), text, {"one"}) == ("more",)
    assert suspected(("help", "more"), text, set()) == ("help", "more")


def test_only_functions_of_checks_that_have_passed_are_fine():
    lesson = find_lesson("14")
    results = [
        Result(lesson.name, name, 0, 1, status, "", "", "", "", 0.0)
        for name, status in (("corners", "passed"), ("scatter", "failed"))
    ]
    fine = passed_functions(lesson, results)
    assert "paint" in fine and "scatter_block" not in fine


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ("* CELL", "with one more factor or divisor"),
        ("* CELL + x", "with one more factor or divisor and one more term"),
        ("* ( CELL + 1 )", "with one more factor or divisor"),
        ("+ y * CELL", "with one more term"),
    ],
)
def test_a_factor_and_a_term_are_two_things(missing, words):
    assert told_difference([], missing.split())[1] == words


def test_a_short_statement_that_may_be_left_out_is_shown_whole():
    text = ["def place(i, n):", "    if i == n:", "        return 0", "    return i"]
    found = Found((Place(2, "condition", "without these lines"),), False)
    _, *shown = told(found, text)
    assert shown == ["  2 | if i == n:", "  3 | return 0"]
    one = Found((Place(2, "condition", "without this condition"),), False)
    assert told(one, text)[1:] == shown[:1]


@pytest.mark.parametrize(
    "mine, ours, quoted",
    [
        ("return float32(y) / float32(255)", "return total", "float32(y) / float32(255)"),
        ("return float32(y + 1) * n", "return float32 * n", ""),
        ("x = tile[i] + n", "x = tile(j, k) + n", "tile[i]"),
        ("x = (a + b) * n", "x = c * n", "(a + b)"),
    ],
)
def test_a_call_is_quoted_with_its_name(mine, ours, quoted):
    _, words = told_change(Line(1, mine, 5), Line(1, ours, 5))
    assert f"in place of `{quoted}`" in words if quoted else "in place of `(" not in words


def test_each_name_that_is_told_has_its_line():
    source = [
        "def one(a, n):",
        "    u = a / n",
        "    k = 0",
        "    v = n",
        "    v = v / a",
        "    b = 1",
    ]
    words = "with `u` and `v` computed in another way"
    lines = told(Found((Place(2, "names", words),), True), source)
    assert lines[1:] == ["  2 | u = a / n", "  4 | v = n"]
    alone = told(Found((Place(2, "name", "with `u` computed in another way"),), True), source)
    assert len(alone) == 2


def test_the_only_function_that_is_written_is_not_told():
    lesson = find_lesson("4")
    assert says_nothing(Found((), False, "encode"), lesson)
    assert not says_nothing(Found((), False, "encode", helpers=("fract",)), lesson)
    assert not says_nothing(Found((), False, "luminance"), find_lesson("1"))
