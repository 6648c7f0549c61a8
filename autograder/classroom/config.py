"""What nbgrader must be told so that a class can be graded: `configure(c)`."""


def configure(c) -> None:
    """Set every nbgrader option of this course on the traitlets config `c`."""
