"""Which calls to Linux a worker may no longer make: a filter that the kernel runs on each of them.

Landlock bounds what files a process changes. It does not bound all that one process can do to
another, nor all that outlives it: a new process, a new session, a signal, a priority, the mode of
a file, a socket, shared memory. An exercise needs none of that. A refused call says EPERM.
"""

import ctypes
import errno
import os
import platform
import sys
from collections.abc import Iterator
from typing import NamedTuple

# Names of calls, and their numbers on x86-64 and on ARM; None where there is none.
Numbers = tuple[int | None, int | None]
REFUSED: dict[str, Numbers] = {
    # processes
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
    "setsid": (112, 157), "setpgid": (109, 154), "unshare": (272, 97), "setns": (308, 268),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "kcmp": (312, 272), "process_madvise": (440, 440), "process_mrelease": (448, 448),
    "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "setpriority": (141, 140), "ioprio_set": (251, 30),
    # network
    "socket": (41, 198), "socketpair": (53, 199), "connect": (42, 203), "bind": (49, 200),
    "listen": (50, 201), "accept": (43, 202), "accept4": (288, 242), "sendto": (44, 206),
    "sendmsg": (46, 211), "sendmmsg": (307, 269),
    # what outlives a process
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190),
    "semop": (65, 193), "semctl": (66, 191), "semtimedop": (220, 192), "msgget": (68, 186),
    "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187), "mq_open": (240, 180),
    "mq_unlink": (241, 181), "add_key": (248, 217), "request_key": (249, 218),
    "keyctl": (250, 219),
    # memory that no limit of a process counts
    "memfd_create": (319, 279), "memfd_secret": (447, 447),
    # modes, owners, times and attributes of files, which Landlock leaves alone
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54),
    "utime": (132, None), "utimes": (235, None), "futimesat": (261, None),
    "utimensat": (280, 88), "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "setxattrat": (463, 463), "removexattrat": (466, 466), "file_setattr": (469, 469),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    # the system
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
    "clock_adjtime": (305, 266), "sethostname": (170, 161), "setdomainname": (171, 162),
    "acct": (163, 89), "quotactl": (179, 60), "iopl": (172, None), "ioperm": (173, None),
    "vhangup": (153, 58), "syslog": (103, 116), "sync": (162, 81), "syncfs": (306, 267),
}  # fmt: skip
# Refused unless the first argument is this process, or 0, which stands for it.
TO_ITSELF: dict[str, Numbers] = {
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131),
}  # fmt: skip
TO_NOBODY_ELSE: dict[str, Numbers] = {
    "prlimit64": (302, 261), "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118), "sched_setattr": (314, 274),
}  # fmt: skip
CLONE: Numbers = (56, 220)  # starts a thread, or a process, which is refused
CLONE3: Numbers = (435, 435)  # its flags cannot be seen: said to be missing, it is not used
FCNTL: Numbers = (72, 25)
IOCTL: Numbers = (16, 29)
SIGNAL_OTHERS = (8, 10, 15, 1024, 1026)  # F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY
TYPE_FOR_OTHERS = (0x5412, 0x541C, 0x8901, 0x8902)  # TIOCSTI, TIOCLINUX, FIOSETOWN, SIOCSPGRP

CLONE_THREAD = 0x10000
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2
SECCOMP: Numbers = (317, 277)
SET_FILTER, ALL_THREADS = 1, 1
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column, its number
ANOTHER_ABI = 0x40000000  # numbers from here on are calls of a second kind on x86-64

# Berkeley packet filters: load a word, compare it, return.
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16  # places in what a filter looks at


class Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint16), ("if_true", ctypes.c_uint8),
                ("if_false", ctypes.c_uint8), ("value", ctypes.c_uint32)]  # fmt: skip


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(Instruction))]


class Step(NamedTuple):
    code: int
    value: int
    if_true: int = 0
    if_false: int = 0


def is_known() -> bool:
    """Whether there is a filter for this system."""
    little = sys.byteorder == "little" and sys.maxsize > 1 << 32
    return sys.platform == "linux" and platform.machine() in ARCHITECTURES and little


def refuse_calls() -> bool:
    """Give up, for good and for all threads, the calls above. Returns whether that worked."""
    if not is_known():
        return False
    column, architecture = ARCHITECTURES[platform.machine()]
    steps = list(program(column, architecture, os.getpid()))
    array = (Instruction * len(steps))(
        *(Instruction(step.code, step.if_true, step.if_false, step.value) for step in steps)
    )
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    made = Program(len(steps), array)
    number = SECCOMP[column]
    if library.syscall(number, SET_FILTER, ALL_THREADS, ctypes.byref(made)) == 0:
        return True
    return bool(library.prctl(PR_SET_SECCOMP, FILTER, ctypes.byref(made), 0, 0) == 0)


def program(column: int, architecture: int, process: int) -> Iterator[Step]:
    refused = Step(RETURN, ERROR | errno.EPERM)
    yield Step(LOAD, ARCHITECTURE)
    yield Step(EQUAL, architecture, if_true=1)
    yield Step(RETURN, KILL)
    yield Step(LOAD, NUMBER)
    yield Step(AT_LEAST, ANOTHER_ABI, if_false=1)
    yield refused
    for numbers in REFUSED.values():
        yield from on_call(numbers[column], [refused])
    for numbers in TO_ITSELF.values():
        yield from on_call(numbers[column], only_argument(0, (process,)))
    for numbers in TO_NOBODY_ELSE.values():
        yield from on_call(numbers[column], only_argument(0, (0, process)))
    yield from on_call(FCNTL[column], no_argument(1, SIGNAL_OTHERS))
    yield from on_call(IOCTL[column], no_argument(1, TYPE_FOR_OTHERS))
    yield from on_call(CLONE3[column], [Step(RETURN, ERROR | errno.ENOSYS)])
    is_thread = Step(ANY_BIT, CLONE_THREAD, if_false=1)
    allowed = Step(RETURN, ALLOW)
    yield from on_call(CLONE[column], [Step(LOAD, ARGUMENTS), is_thread, allowed, refused])
    yield allowed


def on_call(number: int | None, steps: list[Step]) -> Iterator[Step]:
    """Steps for one call; they have to return."""
    if number is not None:
        yield Step(EQUAL, number, if_false=len(steps))
        yield from steps


def only_argument(place: int, values: tuple[int, ...]) -> list[Step]:
    steps = [Step(LOAD, ARGUMENTS + 8 * place)]
    for value in values:
        steps += [Step(EQUAL, value, if_false=1), Step(RETURN, ALLOW)]
    return [*steps, Step(RETURN, ERROR | errno.EPERM)]


def no_argument(place: int, values: tuple[int, ...]) -> list[Step]:
    steps = [Step(LOAD, ARGUMENTS + 8 * place)]
    for value in values:
        steps += [Step(EQUAL, value, if_false=1), Step(RETURN, ERROR | errno.EPERM)]
    return [*steps, Step(RETURN, ALLOW)]
