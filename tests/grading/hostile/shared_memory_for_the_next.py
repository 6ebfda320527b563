"""Leave shared memory of both kinds."""
# like: honest

import ctypes
from multiprocessing import shared_memory

try:
    shared_memory.SharedMemory("left_by_a_student", create=True, size=100)
except OSError:
    pass
ctypes.CDLL(None).shmget(7_654_321, 100, 0o1666)
