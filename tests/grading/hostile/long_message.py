"""An exception with 100 MB of text, and a name of 100,000 letters."""
# like: honest

raise type("E" * 100_000, (Exception,), {})("x" * 100_000_000)
