"""Open files until there are no numbers left."""
# like: honest

held = []
try:
    while True:
        held.append(open("/dev/null"))
except OSError:
    held.clear()
