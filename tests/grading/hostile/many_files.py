"""Ten thousand files to remove."""
# like: honest

try:
    for number in range(10_000):
        open(f"file{number}", "w").close()
except OSError:
    pass
