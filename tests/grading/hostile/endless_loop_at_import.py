"""An endless loop when the file is imported."""
# costs: luminance every_pixel many_blocks whole_photo
# status: timeout

numbers = iter(int, 1)
for _ in numbers:
    pass
