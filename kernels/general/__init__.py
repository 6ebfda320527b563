"""The training step for any network of the family: see README.md."""
