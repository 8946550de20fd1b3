# SPDX-License-Identifier: Apache-2.0
"""The entries of the navigation, for all three roles.

An entry appears as soon as the table of pages (app.py) has its path. Requesters and approvers have the same entries;
those of administrators follow.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from chamberlain.console.words import N_


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry: path, icon of icons.html, and label."""

    path: str
    icon: str
    label: str

    def is_current(self, path: str) -> bool:
        """Return whether a page belongs to this entry.

        That of the start page and of the overview is exact: all other paths begin with theirs. The forms belong to the
        catalog.
        """
        if self.path == START.path:
            return path == self.path or path.startswith(FORMS)
        return path == self.path if self.path == OVERVIEW.path else path.startswith(self.path)


FORMS: Final = "/console/new/"
START: Final = Entry("/console/", "plus", N_("Catalog"))
OVERVIEW: Final = Entry("/console/admin/", "home", N_("Overview"))
APPROVALS: Final = Entry("/console/approvals/", "inbox", N_("Approvals"))
ENTRIES: Final = (
    START,
    Entry("/console/requests/", "list", N_("My requests")),
    APPROVALS,
)
ADMINISTRATION: Final = (
    OVERVIEW,
    Entry("/console/admin/mailboxes/", "shared", N_("Mailboxes")),
    Entry("/console/admin/groups/", "group", N_("Groups and teams")),
    Entry("/console/admin/sites/", "site", N_("Sites")),
    Entry("/console/admin/templates/", "template", N_("Templates")),
    Entry("/console/admin/policies/", "shield", N_("Guest policies")),
    Entry("/console/admin/findings/", "flag", N_("Findings")),
    Entry("/console/admin/deliveries/", "send", N_("Deliveries")),
    Entry("/console/admin/audit/", "audit", N_("Audit trail")),
    Entry("/console/admin/settings/", "gear", N_("Settings")),
)


def entries(paths: Collection[str]) -> Sequence[Entry]:
    """Return the entries of all users, as far as there are pages."""
    return [each for each in ENTRIES if each.path in paths]


def administration(paths: Collection[str]) -> Sequence[Entry]:
    """Return the entries of administrators, as far as there are pages."""
    return [each for each in ADMINISTRATION if each.path in paths]
