"""Known mistakes, by the numbers that they leave: named if these are equal, and else never."""

import re

import numpy as np
import pytest

from lessons.course.exercises import exercise_text, solution_text
from lessons.course.lesson import find_lesson, lessons
from lessons.grading import make_fingerprints
from lessons.grading.explain import known
from lessons.grading.explain.known import Mistake, Observer, Recording, look_up
from lessons.grading.judge import recorded
from lessons.grading.walls.submission import Submission
from lessons.mutations.generated import QUOTED, generated
from tests.grading.grade import grade

TOLERANCE = 1e-5
SEEDS = 1, 2
SOME_ARE = "Some results are as with this mistake: This is {}. Others are wrong in another way."
LESSON = find_lesson(1)
SOLUTION = solution_text(LESSON)
COLOURS = "image[y, x, 0], image[y, x, 1], image[y, x, 2]"
TURNED = "image[y, x, 2], image[y, x, 1], image[y, x, 0]"


def expected(seed, comparison):
    return np.random.default_rng([seed, comparison]).uniform(size=(40, 3)).astype(np.float32)


def left_by(*wrong, ended=""):
    """A recording per seed. wrong: functions of what is expected, one per comparison."""
    recordings = []
    for seed in SEEDS:
        observer = Observer()
        for number, change in enumerate(wrong):
            right = expected(seed, number)
            got = np.asarray(change(right.copy()))
            observer.compare(f"array {number}", got, right, TOLERANCE)
        recordings.append(observer.recording(ended))
    return recordings


def mistake(name, recordings, is_generated=False):
    rows = tuple(recording.row() for recording in recordings)
    made = Mistake(name, "check", f"This is {name}.", rows, is_generated)
    (read,) = known.mistakes_in(known.as_text("key", [made]))  # rounded, as in the file
    return read


def named(recordings, *mistakes):
    found = look_up("check", recordings, mistakes)
    return found and found.sentence


def right(values):
    return values


def doubled(values):
    return 2 * values


def a_little_off(values):
    return 2 * values + np.random.default_rng(0).uniform(-3e-6, 3e-6, values.shape)


def with_column(column, value):
    def change(values):
        values[:, column] = value
        return values

    return change


RED, BLUE = with_column(0, 9.0), with_column(2, 9.0)
TWICE = mistake("twice", left_by(doubled, doubled))


# ---------------------------------------------------------------- equal numbers, and others


def test_equal_numbers_are_named_and_rounding_does_not_matter():
    assert named(left_by(doubled, doubled), TWICE) == "This is twice."
    assert named(left_by(a_little_off, a_little_off), TWICE) == "This is twice."


@pytest.mark.parametrize(
    "wrong",
    [
        (doubled, right), (right, doubled), (doubled, lambda values: 2.01 * values),
        (doubled, with_column(0, 1)), (with_column(0, 1), doubled),
        (lambda values: np.where(np.arange(40)[:, None] == 7, 1.9, 2) * values, doubled),
    ],
)  # fmt: skip
def test_one_number_that_differs_leaves_a_mistake_without_its_name(wrong):
    assert named(left_by(*wrong), TWICE) is None


def test_how_a_run_has_ended_is_compared():
    told = named(left_by(doubled, doubled, ended="race"), TWICE)
    assert told == SOME_ARE.format("twice")


def test_of_another_check_nothing_is_told():
    assert look_up("another", left_by(doubled, doubled), [TWICE]) is None


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -7777.25, 1e30])
def test_strange_numbers_are_compared(value):
    strange = mistake("strange", left_by(with_column(1, value)))
    assert named(left_by(with_column(1, value)), strange) == "This is strange."
    for other in (-np.inf, 1e20, 0.0):
        assert other == value or named(left_by(with_column(1, other)), strange) is None


def test_two_mistakes_that_do_not_meet_are_named_both():
    red, blue = mistake("red", left_by(RED)), mistake("blue", left_by(BLUE))
    both = left_by(lambda values: RED(BLUE(values)))
    assert named(both, red, blue) == "This is red. And: This is blue."


def test_two_mistakes_that_meet_are_no_sum():
    once = mistake("once", left_by(doubled))
    again = mistake("again", left_by(lambda values: 3 * values))
    assert named(left_by(lambda values: 4 * values), once, again) is None


def test_what_explains_some_results_is_told_with_a_word_of_more():
    first = mistake("first", left_by(doubled, right))
    assert named(left_by(doubled, with_column(0, 5.0)), first) == SOME_ARE.format("first")
    red = mistake("red", left_by(RED))
    both = left_by(lambda values: RED(with_column(2, 4.0)(values)))
    assert named(both, red) == SOME_ARE.format("red")
    assert named(both, mistake("more", left_by(RED, doubled))) is None


def test_two_that_leave_the_same_are_told_together_and_a_generated_one_is_not():
    same = [mistake(name, left_by(doubled)) for name in ("one", "two", "three")]
    made = mistake("made", left_by(doubled), is_generated=True)
    told = named(left_by(doubled), made, *same)
    assert told == "This is one. Or, which leaves the same here: This is two."
    assert named(left_by(doubled), made) == "This is made."


def test_one_number_is_too_little_for_a_generated_mistake():
    observer = Observer()
    observer.compare("count", np.array([3]), np.array([2]), 0.0)
    recordings = [observer.recording()] * 2
    assert named(recordings, mistake("made", recordings, is_generated=True)) is None


# ---------------------------------------------------------------- words


@pytest.mark.parametrize("number", ["3", "5", "8"])
def test_words_of_a_generated_mistake_quote_only_what_the_exercise_shows(number):
    lesson = find_lesson(number)
    exercise, solution = exercise_text(lesson), solution_text(lesson)
    made = list(generated(solution, exercise, lesson.blank))
    assert len(made) > 50 and len({one.text for one in made}) > 50
    assert {one.function for one in made} == set(lesson.blank)
    for one in made:
        _, *told = QUOTED.findall(one.sentence)  # the first one is the function
        assert one.text != solution and told
        for quoted in told:
            assert all(name in exercise for name in re.findall(r"\w+", quoted)), one.sentence


# ---------------------------------------------------------------- a student's file


@pytest.fixture(scope="module")
def workers(warm):
    found = warm.new_pool(trusted=True)
    yield found
    found.stop()


def recorded_of(text, workers, check="every_pixel"):
    function, of_it = make_fingerprints.checks("1")[check], LESSON.check(check)
    submission = Submission(LESSON.exercise, text.encode())
    attempts = (recorded.Attempt(LESSON, of_it, submission, n) for n in recorded.PUBLIC_SEEDS)
    return [recorded.record(function, attempt, workers) for attempt in attempts]


@pytest.fixture
def one_known(monkeypatch, workers):
    """Lesson 1 has one known mistake: red and blue are exchanged."""
    found = mistake("blue_first", recorded_of(SOLUTION.replace(COLOURS, TURNED), workers))
    monkeypatch.setattr(recorded, "read", lambda lesson: (found._replace(check="every_pixel"),))


@pytest.mark.slow
def test_a_mistake_is_named_however_it_is_written(one_known, workers):
    text = SOLUTION.replace("float32(0.2126) * red", "float32(0.2126) * blue")
    text = text.replace("float32(0.0722) * blue", "float32(0.0722) * red")
    result = grade(text, [LESSON.check("every_pixel")], workers=workers)["every_pixel"]
    assert result.diagnosis == "blue first"
    assert "\nblue first: This is blue_first.\n" in result.message


@pytest.mark.slow
def test_another_mistake_is_not(one_known, workers):
    text = SOLUTION.replace("float32(0.2126)", "float32(0.2125)")
    result = grade(text, [LESSON.check("every_pixel")], workers=workers)["every_pixel"]
    assert result.status == "failed" and "blue" not in result.message


def test_a_recording_goes_on_after_a_wrong_comparison_and_a_finding_ends_it(workers):
    wrong = SOLUTION.replace("float32(0.2126)", "float32(0.3)")
    first, again = recorded_of(wrong, workers), recorded_of(wrong, workers)
    assert first[0].places > 1 and first == again and first[0].row() != first[1].row()
    outside = recorded_of(SOLUTION.replace("y >= height", "y > height"), workers)
    assert outside[0].ended == "out-of-bounds"
    assert recorded_of(SOLUTION, workers)[0] == Recording(0, {}, "")


# ---------------------------------------------------------------- the files


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.name)
def test_fingerprints_fit_the_checks_the_mistakes_and_our_functions(lesson):
    assert make_fingerprints.is_fresh(lesson), (
        f"run python -m lessons mistakes fingerprints {lesson.number}"
    )
