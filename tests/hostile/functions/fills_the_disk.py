"""outcome: limit

Writes half a gigabyte to every folder where it may write.
"""
import os


def synchronized_item_mean(local_gradients):
    full = None
    for folder in ("/tmp", "/dev/shm", "/var/tmp", "/", os.path.expanduser("~")):
        name = os.path.join(folder, f"filler-{os.getpid()}")
        try:
            with open(name, "wb") as file:
                for _ in range(128):
                    file.write(bytes(2**22))
        except OSError as error:
            full = error
        finally:
            if os.path.exists(name):
                os.unlink(name)
    if full is not None:
        raise OSError(28, "No space left on device")
