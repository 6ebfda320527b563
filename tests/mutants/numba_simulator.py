"""The same mutants on Numba's own simulator (NUMBA_ENABLE_CUDASIM=1), for comparison.

Every mutant gets a process of its own, because a kernel that hangs there cannot be stopped in any
other way. The stages and their inputs are the same as for the checked simulator.
"""

import json
import os
import subprocess
import sys

from tests.mutants import judge, stages

SECONDS = 60  # the longest correct stage takes about 5


def judge_in_numba_simulator(kernel, number):
    """`Verdict` on one mutant; an exception or a hang counts as caught by check."""
    command = [sys.executable, "-m", "tests.mutants.numba_simulator", kernel, str(number)]
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    try:
        child = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
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


def main(kernel, number):
    module = stages.STAGES[kernel].module
    if number >= 0:
        module = judge.mutated_module(kernel, number)
    print(json.dumps(judge.run_stage(kernel, module, launch_simulated)), flush=True)
    # Threads of the simulator that still wait for each other would keep this process alive.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
