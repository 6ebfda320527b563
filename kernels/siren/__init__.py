"""A network of sine layers, which learns a picture without a grid. README.md gives the order."""
