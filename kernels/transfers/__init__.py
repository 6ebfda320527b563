"""Two computers: the host, the device, and what lies between them. README.md has the order."""
