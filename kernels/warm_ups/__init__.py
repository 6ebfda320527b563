"""One idea of a large kernel at a time: what lessons 6 and 7 begin with. README.md tells which."""
