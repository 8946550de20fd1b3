# SPDX-License-Identifier: Apache-2.0
"""Speed tricks that make code harder to read, beside plain code.

A trick is kept if it saves at least 5 % of the processor time of a request. bench/house/fastpath.py measures each.
"""

from enum import StrEnum, auto


class Trick(StrEnum):
    """The tricks that can be switched off, together or alone."""

    BUFFERED_RESPONSE = auto()
    WARM_POOL = auto()


# The switch. A measurement empties it before it imports the rest of the service.
ENABLED: set[Trick] = set(Trick)
