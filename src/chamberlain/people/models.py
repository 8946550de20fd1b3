# SPDX-License-Identifier: Apache-2.0
"""Searches for people, as they count for the rate limit."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Searches:
    """The searches of a user in the minute since `started_at`."""

    number: int
    started_at: datetime
