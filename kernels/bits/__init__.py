"""A picture in few bits, of which any texel can be read alone. README.md gives the order."""
