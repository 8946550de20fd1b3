"""A command line that is understood and makes no sense."""


class Misused(Exception):
    """The message says what does not fit, and what would."""
