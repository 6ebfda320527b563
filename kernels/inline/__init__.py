"""A whole picture in every step: one thread per pixel, which runs the network inline."""
