"""python -m bench: launches, checks and a class, a table each. Compare the ratios; seconds are this machine's."""
from __future__ import annotations

import argparse
import os
import subprocess
import sys

from bench.checks import check_seconds
from bench.classes import grade_classes
from bench.launches import seconds, with_bare_fork, with_engine, with_spawn


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--repeats", type=int, default=7, help="runs of each quick measurement (median)")
    parser.add_argument("--spawns", type=int, default=2, help="runs of each slow measurement (median)")
    parser.add_argument("what", nargs="*", default=["launches", "memory", "checks", "import", "class"],
                        help="launches, memory, checks, import, class (which takes half an hour: see below)")
    parser.add_argument("--students", type=int, default=200, help="size of the class for `class` (12 take 2 minutes)")
    parser.add_argument("--stock", type=int, default=10, help="how many of it plain nbgrader grades (a minute each)")
    arguments = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores (quiet is below 0.5)\n")
    for what in arguments.what:
        {"launches": launches, "memory": memory, "checks": checks, "import": imports,
         "class": grade_class}[what](arguments)


def launches(arguments: argparse.Namespace) -> None:
    """One all_reduce on P fresh ranks."""
    print("One all_reduce on P fresh ranks (seconds, medians)")
    print(f"{'P':>3} {'engine':>8} {'bare fork':>10} {'spawn':>8} {'engine/fork':>12} {'spawn/engine':>13}")
    for world_size in (2, 4, 8):
        total = world_size * (world_size + 1) / 2
        for way in (with_engine, with_bare_fork):
            assert way(world_size) == [total] * world_size
        engine = seconds(lambda P=world_size: with_engine(P), arguments.repeats)
        fork = seconds(lambda P=world_size: with_bare_fork(P), arguments.repeats)
        spawn = seconds(lambda P=world_size: with_spawn(P), arguments.spawns)
        print(f"{world_size:3} {engine:8.3f} {fork:10.3f} {spawn:8.3f} {engine / fork:12.2f} {spawn / engine:13.1f}")
    print()


def memory(_: argparse.Namespace) -> None:
    """Memory of eight ranks that have met."""
    engine, spawn = sum(with_engine(8, weigh=True)), sum(with_spawn(8, weigh=True))
    print("Proportional set size of 8 ranks (MiB)")
    print(f"    engine {engine:.0f}, spawn {spawn:.0f}, engine/spawn {engine / spawn:.2f}\n")


def checks(arguments: argparse.Namespace) -> None:
    """Warm checks of all exercises."""
    print("A warm check, all visible trials (seconds, medians)")
    for assignment, exercise, trials, took in check_seconds(arguments.repeats):
        print(f"    {assignment:15} {exercise:28} {trials:3} trials {took:7.3f}")
    print()


def grade_class(arguments: argparse.Namespace) -> None:
    """A class of item_mean, graded whole: what a submission takes, and whether memory grows with the class."""
    print(f"A class of item_mean on {os.cpu_count()} cores (seconds; plain nbgrader on {arguments.stock} of them)")
    each: dict[str, float] = {}
    for graded in grade_classes(arguments.students, arguments.stock):
        each[graded.way] = graded.each
        early, late = graded.early_and_late
        print(f"    {graded.way:16} {graded.submissions:4} submissions {graded.seconds:8.1f} s {graded.each:6.2f} each"
              f" {3600 / graded.each:7.0f} an hour  memory {early:5.0f} MiB early, {late:5.0f} late", flush=True)
    one, two, stock = each["ours, 1 worker"], each["ours, 2 workers"], each.get("stock, spawn")
    print(f"    2 workers are {one / two:.2f} times as fast as 1")
    if stock:
        print(f"    1 worker is {stock / one:.1f} times as fast as stock, 2 are {stock / two:.1f} times")
    print()


def imports(arguments: argparse.Namespace) -> None:
    """What importing the package costs beside torch."""
    def run(code: str) -> float:
        return seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True), arguments.repeats)

    nothing, package = run("pass"), run("import autograder")
    print(f"import autograder: {package - nothing:.3f} s beyond an empty interpreter "
          "(torch is loaded at first use of a name)\n")


if __name__ == "__main__":
    main()
