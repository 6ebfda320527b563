"""What explains a wrong result: all arrays of a run, and the calls of a training step."""

import types
from typing import NamedTuple

import numpy as np
import pytest

from kernels.training_step import Arrays, Stages
from lessons.course.lesson import find_lesson
from lessons.grading.advice.messages import is_zero
from lessons.grading.advice.unwritten import Diagnosis
from lessons.grading.checks.case import Case
from lessons.grading.checks.inputs import Inputs
from lessons.grading.checks.mistakes import (
    Left,
    Mistake,
    explains,
    same,
    sentence_of,
    two_apart,
    two_at_once,
)
from lessons.grading.checks.ruled_out import (
    OR,
    RightRuns,
    are_two_mistakes,
    but,
    either,
    would_show,
)
from lessons.grading.checks.run import checks_of
from lessons.grading.checks.verdict import CheckEnded
from lessons.grading.exchange.stage_calls import LaunchForgotten, StageCalls, WrongArray, read_calls
from lessons.grading.untrusted.submission import Submission

CASE = types.SimpleNamespace(usual_tolerance=lambda expected: 1e-6)
A, B = np.array([1.0, 2.0]), np.array([5.0])


def explained(got_a, got_b, **mistake):
    left = [Left("a", got_a, A), Left("b", got_b, B)]
    return explains(CASE, left, [got_a, got_b], Mistake("so it is", mistake))


def test_a_mistake_has_to_explain_every_array():
    twice = {"a": 2 * A, "b": 2 * B}
    assert explained(2 * A, 2 * B, **twice)
    assert not explained(2 * A, B, **twice)
    assert not explained(A, B, a=A), "what is right is no mistake"
    assert explained(2 * A, B, a=2 * A), "an array that is not named is right"


def test_two_mistakes_that_change_different_arrays_are_named_together():
    a, b = np.array([1.0, 2, 3]), np.array([4.0, 5, 6])
    known = {
        "twice": Mistake("a is twice.", {"a": 2 * a}),
        "both": Mistake("both are halves.", {"a": a / 2, "b": b / 2}),
        "shifted": Mistake("b is shifted.", {"a": a, "b": b + 1}),
    }

    def found(got_a, got_b):
        return list(
            two_apart(CASE, [(Left("a", got_a, a), got_a), (Left("b", got_b, b), got_b)], known)
        )

    assert found(2 * a, b + 1) == [("twice and shifted", "a is twice. And: b is shifted.")]
    assert not found(2 * a, b), "one of them explains it"
    assert not found(2 * a, b / 2), "the other half of a mistake is not there"


@pytest.mark.parametrize(
    "what, others, told",
    [
        ("scale result", {"by the blocks": A}, ("by the blocks", "by the blocks.")),
        ("scale result", {}, ("halved", f"halved. {but('f(2)', 'f(3)')}")),
        ("other result", {}, ("halved", "halved.")),
        ("other result", {"by the blocks": A}, ("halved", f"halved. {OR} by the blocks.")),
        ("other result", {"other waves": A}, ("halved", "halved.")),
    ],
)
def test_a_mistake_that_an_earlier_run_has_ruled_out_is_not_told_alone(what, others, told):
    right = RightRuns()
    earlier = {"halved": (A / 2, "halved."), "by the blocks": (A, "by the blocks.")}
    right.keep("scale result", "f(2)", lambda codes: would_show(earlier, A, 1e-6, codes))

    def first_of(known):
        code, sentence = next(iter(known.items()), ("wrong", "wrong."))
        return Diagnosis(code, sentence)

    now = {"halved": "halved.", **dict.fromkeys(others, "by the blocks.")}
    assert right.likeliest(what, "f(3)", now, first_of) == told


@pytest.mark.parametrize(
    "left, number, told",
    [
        (2 * np.arange(5.0), 3, True),
        (np.array([0, 1, 2, 3, 9.0]), 3, False),  # one element, which a file may treat by itself
        (2 * np.arange(5.0), 0, False),  # no rounds: there is little to do
    ],
)
def test_a_right_run_rules_out_what_would_have_shown_for_sure(left, number, told):
    lesson = find_lesson("1")
    case = Case(lesson, lesson.checks[0], Submission(lesson.exercise, b""), None, 1, 0, 0, 0, [])
    right, twice = np.arange(5.0), np.arange(7.0)
    case.begin("checked", f"f({number})")
    case.has_zero = is_zero(number)
    case.expect(right, right, candidates={"doubled": (left, "doubled.")})
    case.begin("checked", "f(4)")
    with pytest.raises(CheckEnded) as ended:
        case.expect(2 * twice, twice, candidates={"doubled": (2 * twice, "doubled.")})
    assert (f"This came out right: f({number})".lower() in str(ended.value).lower()) == told


def test_a_wrong_run_is_told_with_one_that_came_out_right():
    lesson = find_lesson("1")
    file = Submission(lesson.exercise, b"")
    case = Case(lesson, lesson.checks[0], file, None, 1, 0.0, False, False, [])
    twice = np.arange(12.0)

    def told(*runs):
        case.right_run, case.is_right = "", False
        for run in runs[:-1]:
            case.begin("checked", run)
            case.expect(twice, twice, name="gray")
        case.begin("checked", runs[-1])
        with pytest.raises(CheckEnded) as ended:
            case.expect(twice**2 + 7, twice, name="gray")
        return str(ended.value).splitlines()[-1]

    assert told("f(array (2, 3))", "f(array (4, 3))") == (
        "This came out right: f(array (2, 3)). What is different here?"
    )
    assert "with other numbers, came out right" in told("f(array (2, 3))", "f(array (2, 3))")
    alone = told("f(array (4, 3))")
    assert "right" not in alone and alone.startswith("wrong: ")
    assert told("g(array (4, 3))", "f(array (4, 3))") == alone, "of another function"


def test_infinity_agrees_with_itself():
    assert same(np.array([np.inf, 1.0]), np.array([np.inf, 1.0]), 0.0)
    assert not same(np.array([np.inf]), np.array([-np.inf]), 0.0)


def test_nan_agrees_with_nan_only():
    assert same(np.array([np.nan, 1.0]), np.array([np.nan, 1.0]), 0.0)
    assert not same(np.array([np.nan, 1.0]), np.array([0.0, 1.0]), 0.0)


class Fields(types.SimpleNamespace):
    def _asdict(self):
        return vars(self)


def watched_stages():
    """(calls, stages, arrays) with stages that do nothing."""

    def encode(uv, feature_grid, features, launch=None):
        pass

    def sample_batch(image, seed, step, uv, target, launch=None):
        pass

    arrays = Arrays(*(np.zeros(2) for _ in Arrays._fields))
    arrays = arrays._replace(parameters=Fields(feature_grid=np.zeros(3), weights=np.zeros(4)))
    calls = StageCalls()
    stages = Stages(encode=encode, sample_batch=sample_batch)
    watched, same_arrays = calls.watched([stages, arrays])
    assert same_arrays is arrays
    return calls, watched, arrays


def test_calls_are_noted_with_their_numbers():
    calls, stages, arrays = watched_stages()
    stages.sample_batch(arrays.image, 7, np.int32(3), arrays.uv, arrays.target, launch=print)
    assert calls.made == [("sample_batch", {"seed": 7.0, "step": 3.0}, {}, [])]


def test_launch_has_to_be_passed_on():
    _, stages, arrays = watched_stages()
    grid = arrays.parameters.feature_grid
    with pytest.raises(LaunchForgotten, match="launch=launch"):
        stages.encode(arrays.uv, grid, arrays.features)
    stages.encode(arrays.uv, grid, arrays.features, print)


def test_an_array_in_the_place_of_another_is_named():
    _, stages, arrays = watched_stages()
    with pytest.raises(WrongArray, match=r"arrays\.target as `uv`"):
        stages.encode(arrays.target, arrays.parameters.feature_grid, arrays.features, launch=print)
    with pytest.raises(WrongArray, match=r"gets 3 as `uv`"):
        stages.encode(3, arrays.parameters.feature_grid, arrays.features, launch=print)
    with pytest.raises(WrongArray, match=r"gets arrays\.target as `uv`"):
        stages.encode(arrays.target[:1], arrays.parameters.feature_grid, arrays.features, print)


def test_an_array_that_is_none_of_ours_is_noted():
    calls, stages, arrays = watched_stages()
    grid, features = arrays.parameters.feature_grid, arrays.features
    stages.encode(arrays.uv[:], grid, features, launch=print)
    stages.encode(arrays.uv.copy(), grid, features[:1], launch=print)
    # What it leads to, the results will tell.
    others = [others for _, _, others, _ in calls.made]
    assert others == [{}, {"uv": "arrays.uv", "features": "arrays.features"}]


@pytest.mark.parametrize(
    "change, how, amount",
    [
        (lambda a: a * 0, "cleared", 0.0),
        (lambda a: a / 8, "times", 0.125),
        (lambda a: np.clip(a, -1, 1), "cut off", 1.0),
        (lambda a: np.maximum(a, 0), "otherwise", 0.0),
        (lambda a: a * np.nan, "otherwise", 0.0),
    ],
)
def test_what_a_file_does_to_an_array_itself_is_noted(change, how, amount):
    calls, stages, arrays = watched_stages()
    arrays.loss_sum[:] = 5, -0.5
    calls.watched([stages, arrays])
    stages.sample_batch(arrays.image, 7, 3, arrays.uv, arrays.target, launch=print)
    arrays.loss_sum[:] = change(arrays.loss_sum)
    grid = arrays.parameters.feature_grid
    stages.encode(arrays.uv, grid, arrays.features, launch=print)
    calls.at_the_end()
    changed = [(stage, changes) for stage, _, _, changes in calls.made]
    assert changed == [("sample_batch", []), ("encode", [("arrays.loss_sum", how, amount)])]


def test_what_a_stage_changes_is_not_the_file_s_and_the_end_counts():
    calls, stages, arrays = watched_stages()

    def encode(uv, feature_grid, features, launch=None):
        features[:] = 7

    stages = calls.noting(stages._replace(encode=encode))
    stages.encode(arrays.uv, arrays.parameters.feature_grid, arrays.features, launch=print)
    calls.at_the_end()
    assert [call[3] for call in calls.made] == [[]]
    arrays.features[0] = 1
    calls.at_the_end()
    stage, _, _, (change,) = calls.made[-1]
    assert (stage, change.array) == ("", "arrays.features")


def test_calls_in_a_reply_are_read_or_refused():
    change = "arrays.uv", "times", 2
    (call,) = read_calls(
        [["adam_grid", {"rates": [1, 2], "learning_rate": 3}, {"m": "a"}, [change]]]
    )
    numbers = {"rates": [1.0, 2.0], "learning_rate": 3.0}
    assert call == ("adam_grid", numbers, {"m": "a"}, [("arrays.uv", "times", 2.0)])
    for nonsense in (
        None, [["a"]], [["a", {"b": "c"}, {}, []]], [["a", 1, {}, []]], [["a", {}, {}, [1]]],
        [["a", {}, {}, [["b", "c", "d"]]]], range(200_000),
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError, AttributeError)):
            read_calls(nonsense)


class Terms(NamedTuple):
    factor: float = 2.0
    slope: str = "sigmoid"


def test_two_mistakes_at_once_are_each_two_that_change_other_terms():
    known = {
        "half": (Terms(factor=1.0), "The 2 is missing."),
        "sign": (Terms(factor=-2.0), "The sign is reversed."),
        "no slope": (Terms(slope="none"), "There is no slope."),
    }
    assert two_at_once(known) == {
        "half and no slope": (Terms(1.0, "none"), "The 2 is missing. And: There is no slope."),
        "sign and no slope": (Terms(-2.0, "none"), "The sign is reversed. And: There is no slope."),
    }


@pytest.mark.parametrize(
    "first, other, are_two",
    [
        (("the block", "Divided by 64."), ("the batch", "Divided by the batch."), True),
        (("rows", "Too few rows: there is no guard."), ("guard", "There is no guard."), False),
        (("sines first", "All sines come first."), ("other waves", "Channel 6 holds ..."), False),
        (("other arguments", "It gets 0."), ("one point", "All are the same point."), False),
        (
            ("sign", "The wave starts at an edge."),
            ("3", "Channel 3 holds a cosine, and should hold a sine."),
            False,
        ),
        (("half a pixel", "Half a pixel off."), ("at x / width", "Asked at u = x / width."), False),
        (("second", "One part alone."), ("parts", "That of x / 2 counts 0.5 times."), False),
        (("stride", "The wrong stride."), ("sums", "31 of the 595 sums are not added."), False),
    ],
)
def test_what_describes_a_result_is_no_other_mistake(first, other, are_two):
    assert are_two_mistakes(Diagnosis(*first), Diagnosis(*other)) == are_two


@pytest.mark.parametrize(
    "fitting, sentence",
    [
        (["block"], "Divided by 64."),
        (
            ["block", "batch"],
            "Divided by 64. Or, which leaves the same here: divided by the batch.",
        ),
        (["block", "as in a block"], "Divided by 64."),  # the same in other words
        (["block", "block and sign", "block, in the loss", "terms left out"], "Divided by 64."),
        (["block and sign", "batch"], "Both."),
    ],
)
def test_another_mistake_that_leaves_the_same_is_told(fitting, sentence):
    sentences = {"block": "Divided by 64.", "batch": "Divided by the batch."}
    sentences |= {"as in a block": "Divided by 64.", "block and sign": "Both."}
    known = {code: Mistake(sentences.get(code, "Other."), {}) for code in fitting}
    assert sentence_of(known, fitting) == sentence


@pytest.mark.parametrize("what, most", [("units that are waves", 0), ("tanh for the sigmoid", 30)])
def test_of_a_large_network_only_what_explains_its_first_blocks_is_computed(what, most):
    lesson = types.SimpleNamespace(**checks_of(find_lesson("6"))["full_size"].__globals__)
    network = lesson.random_network(Inputs([5]), batch=700, hidden=16, layers=1)
    features, _, stored, outputs = network.arrays
    terms = lesson.MISTAKES[what][0] if most else lesson.Terms()
    results, hidden = lesson.network_with(network, terms)
    outputs.array[:], stored.array[:] = results, hidden if most else np.sin(hidden)
    if not most:
        outputs.array[:] = np.sin(results)
    found = lesson.wrong_values(network)
    assert len(found) <= most
    assert what in found or not most
    for mistake in found.values():
        assert len(mistake.arrays["outputs"]) == len(features)


def test_the_second_of_two_sentences_goes_on_and_names_keep_their_letters():
    assert either("One.", "Only two.").endswith("here: only two.")
    assert either("One.", "A thread.").endswith("here: a thread.")
    assert either("One.", "ReLU is missing.").endswith("here: ReLU is missing.")
