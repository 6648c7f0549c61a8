"""`make release`: make release/ from source/ with nbgrader.

The gradebook of a class is not touched: versions are generated against one of their own, so that a change in
the cells of an assignment is no error here.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CONFIG = """from autograder.classroom import configure

c = get_config()
configure(c, root={root!r})
"""


def assignments(root: Path) -> list[str]:
    """The names of the assignments in source/, in alphabetical order."""
    return sorted(path.parent.name for path in root.glob("source/*/*.ipynb") if path.stem == path.parent.name)


def generate(root: Path, name: str, into: Path) -> None:
    """Write the released version of assignment `name` to the folder `into`/`name`.

    Raises RuntimeError with nbgrader's own words when it refuses the source.
    """
    with tempfile.TemporaryDirectory(prefix="release-") as scratch:
        scratch = Path(scratch)
        hidden = shutil.ignore_patterns(".*")
        shutil.copytree(root / "source" / name, scratch / "source" / name, ignore=hidden)
        (scratch / "nbgrader_config.py").write_text(CONFIG.format(root=str(scratch)))
        command = [sys.executable, "-m", "nbgrader", "generate_assignment", name, "--log-level=WARN"]
        run = subprocess.run(command, cwd=scratch, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if run.returncode:
            raise RuntimeError(f"nbgrader cannot release {name}:\n{run.stdout}{run.stderr}")
        shutil.copytree(scratch / "release" / name, into / name, dirs_exist_ok=True)


def main() -> None:
    root = Path.cwd()
    names = assignments(root)
    if not names:
        sys.exit(f"There is no assignment in {root / 'source'}: run this in the root of the course.")
    for name in names:
        try:
            generate(root, name, root / "release")
        except RuntimeError as error:
            sys.exit(str(error))
        print(f"release/{name} is made from source/{name}")


if __name__ == "__main__":
    main()
