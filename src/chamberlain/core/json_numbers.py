"""Numbers as people write them: 2.0 is the whole number 2, in JSON and in YAML."""


def number(text: str) -> int | float:
    """The number that a text with a point or an exponent stands for."""
    value = float(text)
    return int(value) if value.is_integer() else value
