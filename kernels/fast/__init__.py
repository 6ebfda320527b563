"""The training step on tensor cores. README.md gives the reading order."""
