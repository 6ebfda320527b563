"""Leave files in every folder for temporary ones."""
# like: honest

from pathlib import Path

for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run", str(Path.home())):
    try:
        Path(folder, "left_by_a_student").write_text("for the next")
    except OSError:
        pass
