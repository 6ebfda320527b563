"""The replay of a run whose result is wrong: it opens where the first wrong element was written."""

import numpy as np

from lessons.lab.simulator.replay.annotate import with_wrong_result


def replay_of_wrong(data: str, name: str, wrong: np.ndarray, sentence: str) -> str:
    """The worker's data of a replay, with what the judge knows.

    wrong: bool, which elements of the result `name` are wrong. sentence: the diagnosis. Raises
    `ValueError` if the data is not of a replay.
    """
    if not wrong.any():
        return data
    first = int(np.argmax(wrong))
    index = ", ".join(str(int(i)) for i in np.unravel_index(first, wrong.shape))
    message = f"{name}[{index}] is wrong. {sentence}"
    return with_wrong_result(data, message, name, wrong.shape, first)
