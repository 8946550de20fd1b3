"""What can be said of guest rules: whose are listed, and what is assigned."""

from dataclasses import dataclass

from chamberlain.cli.options import (
    PATIENCE,
    All,
    Assigned,
    GuestPolicy,
    GuestTemplate,
    IfMatch,
    Limit,
    NoPolicy,
    NoTemplate,
    Query,
    Timeout,
    Wait,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedListOptions:
    """Which groups or sites are listed, and how many."""

    assigned: Assigned = None
    template: GuestTemplate = None
    policy: GuestPolicy = None
    query: Query = None
    limit: Limit = 50
    everything: All = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentOptions:
    """What is to be assigned, by name or id, what is to be taken away, and whether its effects are waited for."""

    template: GuestTemplate = None
    policy: GuestPolicy = None
    if_match: IfMatch = None
    no_template: NoTemplate = False
    no_policy: NoPolicy = False
    wait: Wait = False
    timeout: Timeout = PATIENCE
