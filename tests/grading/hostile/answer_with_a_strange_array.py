"""An answer with an array whose header is Python, very deep."""
# like: honest

import os

HEADER = b"{'descr': " + b"(" * 5000 + b")" * 5000 + b"}"
ARRAY = b"\x93NUMPY" + bytes([2, 0]) + len(HEADER).to_bytes(4, "little") + HEADER
CONTENT = b'{"number": 1}'
MESSAGE = len(CONTENT).to_bytes(8, "little") + CONTENT + (1).to_bytes(8, "little")
MESSAGE += len(ARRAY).to_bytes(8, "little") + ARRAY
for descriptor in range(3, 32):
    try:
        os.write(descriptor, MESSAGE)
    except OSError:
        continue
