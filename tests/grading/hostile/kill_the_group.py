"""Signals to the group, to its parent's group, and to all that can be reached."""
# like: honest

import os
import signal

for target in (os.getpgid(os.getppid()), os.getpgid(0)):
    try:
        os.killpg(target, signal.SIGTERM)
    except OSError:
        pass
try:
    os.kill(-1, signal.SIGTERM)
except OSError:
    pass
