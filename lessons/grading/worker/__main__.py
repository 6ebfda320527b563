"""A worker that begins from nothing.

python -m lessons.grading.worker        (started by the judge, which talks to it over its pipes)
"""

import os
import threading

from lessons.grading.walls.limits import leave_with
from lessons.grading.worker.process import answer_requests, give_up_rights, greet, private_pipes
from lessons.grading.worker.worker import Worker


def main() -> None:
    requests, replies = private_pipes()
    worker = Worker()
    give_up_rights(has_gpu=worker.gpu_obstacle is None)
    threading.Thread(target=leave_with, args=(os.getppid(),), daemon=True).start()
    greet(worker, replies)
    answer_requests(worker, requests, replies)


if __name__ == "__main__":
    main()
