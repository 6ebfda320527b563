"""Convolution and pooling, forward and back. README.md gives the order."""
