"""outcome: wrong

Writes files beside everything it can see, this package included, and removes what is called a canary.
"""
import os

import torch
import torch.distributed as dist

import autograder


def write():
    package = os.path.dirname(autograder.__file__)
    for folder in (package, os.path.dirname(package), "/", "/etc", "/usr/bin", "/usr/lib", "/proc/sys/kernel",
                   os.path.dirname(os.path.dirname(torch.__file__))):
        try:
            with open(os.path.join(folder, "hostile-was-here"), "w") as file:
                file.write("x")
            print("WROTE", folder)
        except OSError:
            pass
    for name in ("judge.py", "notebook.py", "ranks/rank.py"):
        try:
            with open(os.path.join(package, name), "r+b"):
                print("OPENED", name)
        except OSError:
            pass


write()


def synchronized_item_mean(local_gradients):
    if dist.get_rank() == 0:
        write()
    return local_gradients.mean(0)
