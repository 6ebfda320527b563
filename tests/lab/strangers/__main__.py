"""What the lab says of kernels that others could have written, and a table of it.

python -m tests.lab.strangers                all of them, some minutes
python -m tests.lab.strangers sorting csr    of these topics, or with these words in their names
"""

import sys
import time
from collections import Counter

from tests.lab.strangers.judge import TOPICS, cases_of, judge


def main() -> None:
    words = sys.argv[1:]
    counts: Counter[str] = Counter()
    for topic in TOPICS:
        for case in cases_of(topic):
            if not words or any(word in case.name or word == topic for word in words):
                counts.update(show(topic, case))
    for what, number in sorted(counts.items()):
        print(f"{number:5}  {what}")


def show(topic, case) -> list[str]:
    """Print what is not as it should be. Returns what to count."""
    begin = time.perf_counter()
    try:
        complaints = judge(case)
    except Exception as error:  # also that is to be counted
        complaints = [f"{type(error).__name__}: {error}"]
    seconds = time.perf_counter() - begin
    print(f"{topic}.{case.name}: {case.kind or 'right'}, {seconds:.1f} s", flush=True)
    for complaint in complaints:
        print("   ", complaint)
    sort = "right" if case.kind is None else "wrong"
    agrees = not any(complaint.startswith("numba-cuda") for complaint in complaints)
    return [
        f"{sort}: kernels",
        *([f"{sort}: numba-cuda agrees on whether it compiles"] if agrees else []),
        *([] if complaints else [f"{sort}: {'clean' if sort == 'right' else 'found'}"]),
    ]


if __name__ == "__main__":
    main()
