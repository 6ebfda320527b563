"""What the commands `python -m lessons.NN_name` share."""
