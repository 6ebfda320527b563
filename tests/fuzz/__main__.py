"""Run many kernels of the grammar in all three, and count how often they agree.

python -m tests.fuzz 2000               on two cores, half an hour
python -m tests.fuzz 100 --seed 5000    other kernels
python -m tests.fuzz 2000 --no-native   without the native engine: minutes
python -m tests.fuzz 2000 --save        and write tests/fuzz/counts.json
"""

import argparse
import json
from collections import Counter
from pathlib import Path

from tests.fuzz.compare import outcome
from tests.fuzz.grammar import case

COUNTS = Path(__file__).with_name("counts.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernels", type=int)
    parser.add_argument("--seed", type=int, default=0, help="of the first kernel")
    parser.add_argument("--no-native", action="store_true", help="leave out the native engine")
    parser.add_argument("--save", action="store_true", help=f"write {COUNTS.name}")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for seed in range(options.seed, options.seed + options.kernels):
        one = case(seed)
        found = outcome(one, not options.no_native)
        counts["kernels"] += 1
        counts["compile" if found.compiles else "do not compile"] += 1
        counts["with a mistake written in"] += one.mistake is not None
        counts["checked agrees"] += found.checked == ("agrees" if found.compiles else "refused")
        if not options.no_native:
            right = found.native == ("agrees" if found.compiles else "refused")
            counts["native run"] += 1
            counts["native agrees"] += right
        if not found.agree:
            print(f"seed {seed}: {one.mistake}: {found}", flush=True)
    print(json.dumps(counts, indent=2))
    if options.save:
        COUNTS.write_text(json.dumps(counts, indent=2) + "\n")


if __name__ == "__main__":
    main()
