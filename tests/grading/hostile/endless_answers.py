"""Answers that nobody has asked for, without end."""
# like: honest

import os
import threading

CONTENT = b'{"number": 99}'
MESSAGE = (len(CONTENT).to_bytes(8, "little") + CONTENT + bytes(8)) * 1000


def write():
    while True:
        for descriptor in range(3, 32):
            try:
                os.write(descriptor, MESSAGE)
            except OSError:
                continue


threading.Thread(target=write, daemon=True).start()
