"""Add to a replay what only its owner knows: that an element of the result is wrong."""

import json
from collections.abc import Sequence
from typing import Any

WRONG_RESULT = "wrong result"
MEANING = "The kernel runs without an error, but its result is not what it should be."


def with_wrong_result(
    data: str, message: str, name: str, shape: Sequence[int], element: int
) -> str:
    """The data of a replay with a finding about a wrong element, at the step that wrote it last.

    data: JSON as of `data.replay_data`, whoever sent it. name, shape: of the array; where the
    kernel has another name for it, the only one of this shape. element: row-major.
    Raises `ValueError` if the data is nothing of the kind.
    """
    try:
        content = json.loads(data)
        array = number_of(content["arrays"], name, list(shape))
        step = last_write(content, array, element)
        finding = {
            "kind": WRONG_RESULT,
            "line": content["steps"][step]["line"] if step >= 0 else 0,
            "source": content["steps"][step]["source"] if step >= 0 else 0,
            "message": message,
            "meaning": MEANING,
            "advice": False,
            "step": step,
            "threads": [],
            "array": array,
            "marked": [element],
        }
        content["findings"].insert(0, finding)
        for step_content in content["steps"]:
            if "findings" in step_content:
                step_content["findings"] = [n + 1 for n in step_content["findings"]]
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"no data of a replay: {error}") from None
    return json.dumps(content, separators=(",", ":"))


def number_of(arrays: Sequence[dict[str, Any]], name: str, shape: list[int]) -> int:
    """The number of the array that is meant; -1 if that is not clear."""
    alike = [
        number
        for number, array in enumerate(arrays)
        if array["space"] == "global" and array["shape"] == shape
    ]
    default = alike[0] if len(alike) == 1 else -1
    return next((number for number in alike if arrays[number]["name"] == name), default)


def last_write(content: dict[str, Any], array: int, element: int) -> int:
    """The number of the last step that wrote an element; -1: none did."""
    for number in range(len(content["steps"]) - 1, -1, -1):
        step = content["steps"][number]
        if step.get("array", -1) != array or array < 0 or step["kind"] not in ("write", "atomic"):
            continue
        if holds(content["lists"][step["elements"]], element):
            return number
    return -1


def holds(encoded: Any, element: int) -> bool:
    """Whether a list of `encode.Lists` holds a number."""
    if isinstance(encoded, list):
        return element in encoded
    runs = encoded["runs"]
    for first, step, count in zip(runs[::3], runs[1::3], runs[2::3], strict=True):
        distance = element - first
        if step == 0 and distance == 0:
            return True
        if step != 0 and distance % step == 0 and 0 <= distance // step < count:
            return True
    return False
