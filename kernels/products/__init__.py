"""Matrix products, from rung to rung faster. README.md has the order."""
