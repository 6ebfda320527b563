"""Fill the disk."""
# like: honest

try:
    with open("large", "wb") as file:
        while True:
            file.write(bytes(1 << 24))
except OSError:
    pass
