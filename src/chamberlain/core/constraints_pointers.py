"""JSON Pointers (RFC 6901): where in a body or a file something stands."""


def child(pointer: str, name: str | int) -> str:
    """The pointer of a member or an item (RFC 6901, 3: tilde and slash are escaped)."""
    return f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}"


def parts(pointer: str) -> list[str]:
    """The names and places that a pointer goes through, as they are written in the document."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
