"""A pipe, and then a folder, where the student's file was."""
# like: honest

import os

place = __file__
os.remove(place)
try:
    os.mkfifo(place)
except OSError:
    os.mkdir(place)
