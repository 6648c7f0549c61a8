"""What commands raise when they cannot do what they were asked; apart, so that it costs no import of nbgrader."""


class Refused(Exception):
    """A command cannot do what it was asked; the message says why and what to do."""
