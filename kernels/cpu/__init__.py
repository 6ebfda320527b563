"""The training step for a machine without a GPU. README.md gives the reading order."""
