"""The process stops, and waits for ever."""
# like: honest

import os
import signal

os.kill(os.getpid(), signal.SIGSTOP)
