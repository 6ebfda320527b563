"""Whatever Python runs at an end: functions, finalisers, threads that are waited for."""
# like: honest

import atexit
import gc
import sys
import threading
import time
import weakref


def wait():
    time.sleep(600)


class Heir:
    def __del__(self):
        wait()


HEIR = Heir()
atexit.register(wait)
weakref.finalize(HEIR, wait)
gc.callbacks.append(lambda phase, found: None)
threading.Thread(target=wait).start()
sys.excepthook = sys.unraisablehook = lambda *arguments: wait()
