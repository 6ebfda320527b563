"""A palette by k-means: which colours paint a picture best. README.md gives the order."""
