"""Set the clock of the machine."""
# like: honest

import ctypes
import time

library = ctypes.CDLL(None, use_errno=True)
try:
    time.clock_settime(time.CLOCK_REALTIME, 0)
except OSError:
    pass
library.settimeofday(ctypes.create_string_buffer(16), None)
library.adjtimex(ctypes.create_string_buffer(256))
library.syscall(227, 0, ctypes.create_string_buffer(16))  # clock_settime
time.sleep = lambda seconds: None
