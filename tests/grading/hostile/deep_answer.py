"""An answer of ten million brackets."""
# like: honest

import os

TEXT = b"[" * 10_000_000
for descriptor in range(3, 32):
    try:
        os.write(descriptor, len(TEXT).to_bytes(8, "little") + TEXT)
    except OSError:
        continue
