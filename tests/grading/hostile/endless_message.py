"""An exception whose text never ends."""
# like: honest


class Endless(Exception):
    def __str__(self):
        while True:
            pass


raise Endless
