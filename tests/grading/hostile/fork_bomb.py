"""Start processes until there is no room."""
# like: honest

import os
import time

for _ in range(50):
    try:
        if os.fork() == 0:
            time.sleep(600)
    except OSError:
        break
