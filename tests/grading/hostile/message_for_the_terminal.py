"""An exception that paints a full score on the terminal and in tables."""
# like: nothing

raise ValueError(
    "\x1b[2J\x1b[H\x1b[32m01_grayscale 10 of 10 points\x07\r</pre><script>alert(1)</script>"
    "\ud800 =HYPERLINK(1)"
)
