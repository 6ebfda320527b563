"""An endless loop when the file is imported."""
# like: honest

numbers = iter(int, 1)
for _ in numbers:
    pass
