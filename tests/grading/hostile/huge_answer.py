"""An answer of 2 GB."""
# like: honest

import os
import threading


def write():
    for descriptor in range(3, 32):
        try:
            os.write(descriptor, (16).to_bytes(8, "little") + b'{"findings": []}')
            os.write(descriptor, (9_000).to_bytes(8, "little") + (1 << 31).to_bytes(8, "little"))
            while True:
                os.write(descriptor, bytes(1 << 20))
        except OSError:
            continue


threading.Thread(target=write, daemon=True).start()
