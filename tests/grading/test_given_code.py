"""No mistake is looked for in functions that are as the exercise came with them."""

from lessons.course.exercises import solution_text
from lessons.course.lesson import find_lesson
from lessons.grading.explain.clues import given_function_at
from lessons.grading.explain.messages import lines_of_findings
from lessons.grading.worker.outcome import Found

LESSON = find_lesson("11")
TEXT = solution_text(LESSON)
INSIDE = "candidate = candidates[i]"  # of argmax_candidates, which is given
OUTSIDE = (
    "values[9] is outside its shape (7,): axis 0 has only the indices 0 to 6; thread 0 of block 0. "
    "Even the first thread is outside: which number is too large?"
)


def line_of(words, text):
    return next(number for number, line in enumerate(text.splitlines(), 1) if words in line)


def test_a_given_function_is_known_with_other_comments_and_without_its_docstring():
    assert given_function_at(line_of(INSIDE, TEXT), TEXT, LESSON) == "argmax_candidates"
    start = TEXT.index('"""result (1,) int32')
    bare = TEXT[:start] + "# result" + TEXT[TEXT.index('"""', start + 3) + 3 :].lstrip(".")
    assert "result (1,)" not in bare
    assert given_function_at(line_of(INSIDE, bare), bare, LESSON) == "argmax_candidates"


def test_a_function_that_was_changed_or_is_to_be_written_is_the_students():
    changed = TEXT.replace(INSIDE, "candidate = candidates[i + 1]")
    assert given_function_at(line_of("candidates[i + 1]", changed), changed, LESSON) == ""
    assert given_function_at(line_of("def argmax_blocks", TEXT) + 2, TEXT, LESSON) == ""
    assert given_function_at(1, TEXT, LESSON) == ""


def test_a_line_of_given_code_is_not_told_alone():
    number, source = line_of(INSIDE, TEXT), TEXT.splitlines()
    found = [Found("out-of-bounds", number, OUTSIDE, True)]
    told = lines_of_findings(found, source, {number: "argmax_candidates"})
    assert "which number" not in told[0]
    assert "`argmax_candidates` is given" in told[-1]
    assert "given" not in "".join(lines_of_findings(found, source))
