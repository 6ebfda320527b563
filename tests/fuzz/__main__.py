"""Run many kernels of the grammar in all three, and count how often they agree.

python -m tests.fuzz 2000 --jobs 2      on two cores, three quarters of an hour
python -m tests.fuzz 100 --seed 5000    other kernels
python -m tests.fuzz 2000 --no-native   without the native engine: minutes
python -m tests.fuzz 2000 --save        and write tests/fuzz/counts.json
"""

import argparse
import json
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from tests.fuzz.compare import count

COUNTS = Path(__file__).with_name("counts.json")
SAVED_EVERY = 100  # kernels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernels", type=int)
    parser.add_argument("--seed", type=int, default=0, help="of the first kernel")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time (default 1)")
    parser.add_argument("--no-native", action="store_true", help="leave out the native engine")
    parser.add_argument("--save", action="store_true", help=f"write {COUNTS.name}")
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.kernels)
    counts: Counter[str] = Counter()
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        for found in pool.map(partial(count, with_native=not options.no_native), seeds):
            counts.update(found)
            if options.save and counts["kernels"] % SAVED_EVERY == 0:
                save(options.seed, counts)
    print(json.dumps(counts, indent=2))
    if options.save:
        save(options.seed, counts)


def save(first: int, counts: Counter[str]) -> None:
    """Write the counts of the kernels so far, with the command that runs them again."""
    command = f"python -m tests.fuzz {counts['kernels']} --seed {first} --save"
    COUNTS.write_text(json.dumps({"command": command, **counts}, indent=2) + "\n")


if __name__ == "__main__":
    main()
