"""The same mutants on Numba's own simulator (NUMBA_ENABLE_CUDASIM=1), for comparison.

Every mutant gets a process of its own, because a kernel that hangs there cannot be stopped in any
other way. The stages and their inputs are the same as for the checked simulator.
"""

import json
import os
import subprocess
import sys

from tests.mutants import judge, stages
from tests.mutants.generate import load

SECONDS = 60  # the longest correct stage takes about 5


def judge_in_numba_simulator(kernel, number):
    """`Verdict` on one mutant; an exception or a hang counts as caught by check."""
    return judge_text(kernel, judge.mutants(kernel)[number].text)


def judge_text(kernel, text):
    """The same for the text of a module that defines the kernel."""
    command = [sys.executable, "-m", "tests.mutants.numba_simulator", kernel]
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    try:
        child = subprocess.run(
            command, input=text, env=environment, capture_output=True, encoding="utf-8",
            timeout=SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return judge.Verdict(judge.CHECK, "hang")
    if child.returncode != 0:
        return judge.Verdict(judge.ERROR, child.stderr)
    return judge.Verdict(*json.loads(child.stdout.splitlines()[-1]))


def launch_simulated(kernel, blocks, threads, *arguments):
    try:
        kernel[blocks, threads](*arguments)
    except Exception as error:
        raise judge.Noticed(type(error).__name__) from error


def main(kernel, text):
    module = load(text, stages.STAGES[kernel].module.__name__, f"<mutant of {kernel}>")
    print(json.dumps(judge.run_stage(kernel, module, launch_simulated)), flush=True)
    # Threads of the simulator that still wait for each other would keep this process alive.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], sys.stdin.buffer.read().decode())
