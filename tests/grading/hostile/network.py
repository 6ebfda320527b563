"""Talk to the network, in several ways."""
# like: honest

import socket

for family, kind, address in (
    (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 22)),
    (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 53)),
    (socket.AF_UNIX, socket.SOCK_STREAM, chr(0) + "left_by_a_student"),
):
    try:
        socket.socket(family, kind).connect(address)
    except OSError:
        pass
