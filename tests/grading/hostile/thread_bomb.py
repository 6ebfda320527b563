"""Start threads until there is no room."""
# like: honest

import threading
import time

for _ in range(3000):
    try:
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    except RuntimeError:
        break
