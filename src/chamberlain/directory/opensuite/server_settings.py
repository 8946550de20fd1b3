# SPDX-License-Identifier: Apache-2.0
"""Read settings of slapd and Dovecot as their servers show them. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from chamberlain.directory.opensuite.entry import normalized_dn

# Attributes of cn=config that are read. slapd 2.4 calls the last but one olcDlAttrSet, which 2.5 accepts as well.
CONFIGURATION: Final = (
    "olcSuffix", "olcDbIndex", "olcOverlay", "olcUniqueURI", "olcRefintAttribute", "olcDlAttrSet", "olcSpSessionlog",
)  # fmt: skip
# Names in a definition of a schema: NAME 'a', or NAME ( 'a' 'b' ).
_NAMES: Final = re.compile(r"NAME\s+(?:\(\s*((?:'[^']+'\s*)+)\)|('[^']+'))")
# slapd numbers the values of ordered attributes and the names of databases and overlays: {1}mdb.
_NUMBER: Final = re.compile(r"^\{-?\d+\}")
_SETTING: Final = re.compile(r"(?P<name>[\w/.-]+)\s*=\s*(?P<value>.*)")
_SECTION: Final = re.compile(r"(?P<name>[^{=]+?)\s*\{\s*")
_INCLUDE: Final = re.compile(r"!include(?:_try)?\s+(?P<path>\S+)")


@dataclass(frozen=True, slots=True)
class ConfigurationEntry:
    """An entry of cn=config. Names of attributes are in lower case."""

    dn: str
    values: Mapping[str, Sequence[str]]

    def all(self, name: str) -> list[str]:
        """Return the values of an attribute without their numbers."""
        return [_NUMBER.sub("", value) for value in self.values.get(name.lower(), ())]


@dataclass(frozen=True, slots=True)
class DatabaseSettings:
    """Settings of one database of slapd.

    `indexed` are attributes with an index for equality, `overlays` the overlays with their entries. All names are in
    lower case.
    """

    indexed: frozenset[str]
    overlays: Mapping[str, ConfigurationEntry]

    def words(self, overlay: str, *names: str) -> frozenset[str]:
        """Return all words in attributes of an overlay, in lower case."""
        entry = self.overlays.get(overlay)
        values = () if entry is None else [value for name in names for value in entry.all(name)]
        return frozenset(word.lower() for value in values for word in re.split(r"[\s?]+", value))


def find_database(entries: Iterable[ConfigurationEntry], base: str) -> DatabaseSettings | None:
    """Find the database with a branch.

    None if the account may not read cn=config.
    """
    entries, name = list(entries), normalized_dn(base)
    found: tuple[int, ConfigurationEntry] | None = None
    for entry in entries:
        for suffix in map(normalized_dn, entry.all("olcSuffix")):
            if (name == suffix or name.endswith(f",{suffix}")) and (found is None or len(suffix) > found[0]):
                found = len(suffix), entry
    if found is None:
        return None
    database, below = found[1], f",{normalized_dn(found[1].dn)}"
    overlays = {
        overlay.lower(): entry
        for entry in entries
        if normalized_dn(entry.dn).endswith(below)
        for overlay in entry.all("olcOverlay")
    }
    return DatabaseSettings(frozenset(_indexed(database.all("olcDbIndex"))), overlays)


def defined_names(definitions: Iterable[str]) -> frozenset[str]:
    """Return the names that definitions of a schema have, in lower case."""
    found = set()
    for definition in definitions:
        if (match := _NAMES.search(definition)) is not None:
            found.update(re.findall(r"'([^']+)'", match[1] or match[2]))
    return frozenset(name.lower() for name in found)


@dataclass(slots=True)
class Section:
    """A section of Dovecot's configuration, with its settings and sections.

    The file itself is one, too.
    """

    name: str
    settings: dict[str, str] = field(default_factory=dict)
    sections: "list[Section]" = field(default_factory=list)

    def named(self, name: str) -> "Iterator[Section]":
        """Yield the sections of a kind, or with a whole name."""
        for section in self.sections:
            if section.name == name or section.name.split()[:1] == [name]:
                yield section

    def value(self, section: str, setting: str) -> str:
        """Return the last setting in sections of this name.

        Empty if it is not set.
        """
        found = [each.settings[setting] for each in self.named(section) if setting in each.settings]
        return found[-1] if found else ""


def parse_dovecot(text: str) -> tuple[Section, tuple[str, ...]]:
    """Parse a configuration file of Dovecot 2.3.

    Returns its content and the paths that it includes.
    """
    top = Section("")
    path, included = [top], []
    for line in map(_without_comment, text.splitlines()):
        if (include := _INCLUDE.fullmatch(line)) is not None:
            included.append(include["path"])
        elif (section := _SECTION.fullmatch(line)) is not None:
            path[-1].sections.append(Section(" ".join(section["name"].split())))
            path.append(path[-1].sections[-1])
        elif line == "}" and len(path) > 1:
            path.pop()
        elif (setting := _SETTING.fullmatch(line)) is not None:
            path[-1].settings[setting["name"]] = setting["value"].strip('"')
    return top, tuple(included)


def joined(sections: Sequence[Section]) -> Section:
    """Join files into one configuration. A later setting replaces an earlier one."""
    whole = Section("")
    for each in sections:
        whole.settings.update(each.settings)
        whole.sections.extend(each.sections)
    return whole


def has_shared_namespace(dovecot: Section) -> bool:
    """Return whether clients see mailboxes of other users."""
    is_there = any(each.settings.get("type") == "shared" for each in dovecot.named("namespace"))
    return is_there and dovecot.value("plugin", "acl_shared_dict") != ""


def inherits_from_inbox(dovecot: Section) -> bool:
    """Return whether folders without rights of their own have those of INBOX."""
    has_plugin = "acl" in dovecot.settings.get("mail_plugins", "").split()
    return has_plugin and dovecot.value("plugin", "acl_defaults_from_inbox") in {"yes", "true", "1"}


def runs_sieve(dovecot: Section) -> bool:
    """Return whether delivery runs scripts of Sieve."""
    plugins = [dovecot.value(f"protocol {name}", "mail_plugins") for name in ("lmtp", "lda")]
    return any("sieve" in each.split() for each in plugins) and dovecot.value("plugin", "sieve") != ""


def _indexed(values: Iterable[str]) -> Iterator[str]:
    for value in values:
        names, _, kinds = value.partition(" ")
        if not kinds or "eq" in re.split(r"[\s,]+", kinds):
            yield from names.lower().split(",")


def _without_comment(line: str) -> str:
    """Remove a comment.

    A hash after a space begins one.
    """
    return re.split(r"(?:^|\s)#", line, maxsplit=1)[0].strip()
