"""Standard output that cannot be flushed."""
# like: honest

import sys


class Output:
    def write(self, text):
        return len(text)

    def flush(self):
        raise SystemExit(0)


sys.stdout = Output()
