"""Start a child that never ends, and do the rest as it should be."""
# like: honest

import subprocess
import sys
import tempfile
from pathlib import Path

child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
Path(tempfile.gettempdir(), "child_left_running.txt").write_text(str(child.pid))
