"""The value of an argument that nobody gave: absent, null and set are three.

`UNSET` is left out of what is sent, `None` is sent as `null`, everything else as what it is.
"""

from msgspec import UNSET, UnsetType

__all__ = ["UNSET", "UnsetType"]
