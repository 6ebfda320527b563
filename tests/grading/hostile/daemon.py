"""Fork twice, begin a session, and stay."""
# like: honest

import os
import time

try:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
except OSError:
    pass
