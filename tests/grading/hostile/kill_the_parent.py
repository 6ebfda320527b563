"""Signals to the process that started this one."""
# like: honest

import os
import signal

for number in (signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
    try:
        os.kill(os.getppid(), number)
    except OSError:
        pass
