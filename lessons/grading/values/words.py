"""What a student reads of an expression that has wrong numbers."""

from lessons.grading.values.search import FoundValue

LONGEST = 60  # characters of an expression that is told whole
DIGITS = 4, 6, 9


def sentence(found: FoundValue) -> str:
    """Where numbers are wrong. Only of a certain place it begins as all that tells a line does."""
    replaced = found.replaced
    was, now = number_texts(replaced.was, replaced.now)
    if found.is_truth:
        was, now = ("true" if number else "false" for number in (replaced.was, replaced.now))
    turn = f", the {ordinal(replaced.turn + 1)} time" if replaced.turn else ""
    text = found.text if len(found.text) <= LONGEST else f"{found.text[:LONGEST]}..."
    numbers = f"`{text}` is {was} in {replaced.thread}{turn}, and should be {now}"
    mended = "With the right numbers there, in all threads, the results of this call are right"
    if found.certain:
        return f"look at line {found.line}: {numbers}. {mended}"
    return (
        f"in line {found.line} a number is wrong: {numbers}. {mended}. Look there, and at "
        "the lines that these numbers come from"
    )


def number_texts(was: float, now: float) -> tuple[str, str]:
    """Two numbers, with as many digits as show that they differ."""
    texts = f"{was:.9g}", f"{now:.9g}"
    for digits in DIGITS:
        texts = f"{was:.{digits}g}", f"{now:.{digits}g}"
        if texts[0] != texts[1]:
            break
    return texts


def ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"
