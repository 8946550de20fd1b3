# SPDX-License-Identifier: Apache-2.0
"""Filters of groups and users as LDAP filters. Pure.

Text comparisons ignore letter case, as the attributes do.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from chamberlain.core.directory_filters import Comparison, Equals, Filter, HasAddress, HasType, Path, StartsWith
from chamberlain.core.errors import Rejected
from chamberlain.core.expressions import AllOf, AnyOf, Not
from chamberlain.core.ids import WRITTEN_ID
from chamberlain.directory.opensuite.attributes import DYNAMIC_GROUP_CLASS
from chamberlain.directory.opensuite.filters import all_of, any_of, any_value, equal, escaped, none_of
from chamberlain.directory.opensuite.layout import MARK, REQUEST_ID, Layout
from chamberlain.directory.opensuite.rules import EVERYTHING, NOTHING

_CN: Final = "cn"
_REQUEST: Final = "requestId"
# Properties whose values few entries have, each found by an index.
_SELECTIVE: Final = frozenset({"id", "mail", "userPrincipalName", _REQUEST})


@dataclass(frozen=True, slots=True, eq=False)
class Searched:
    """The entries of a branch, as a filter sees them.

    `texts` are the attributes of properties; an entry without the first one has the second. `nicknames` is the
    attribute whose part before the @ is the mail nickname. `addresses` have proxy addresses. `guests` is the filter of
    guests, and `types` that of each group type in lower case.
    """

    texts: Mapping[str, tuple[str, ...]]
    addresses: tuple[str, ...]
    nicknames: str | None = None
    guests: str | None = None
    types: Mapping[str, str] | None = None


def searched_groups(layout: Layout) -> Searched:
    """Describe the groups of a tenant."""
    names = layout.names
    dynamic = equal("objectClass", DYNAMIC_GROUP_CLASS)
    return Searched(
        texts={
            "displayName": (names.display_name, _CN),
            "mail": (names.mail,),
            "mailNickname": (names.nickname,),
        },
        addresses=(names.mail,),
        types={"unified": f"({names.mail}=*)", "dynamicmembership": dynamic},
    )


def searched_people(layout: Layout) -> Searched:
    """Describe the people of a tenant."""
    names, person = layout.names, layout.person
    user_name = person.get("userPrincipalName", names.name)
    mail = person.get("mail", names.mail)
    return Searched(
        texts={
            "displayName": (person.get("displayName", names.display_name), _CN),
            "mail": (mail,),
            "userPrincipalName": (user_name,),
        },
        addresses=(mail, names.address, *layout.aliases),
        nicknames=user_name,
        guests=layout.guests,
    )


def searched_mailboxes(layout: Layout) -> Searched:
    """Describe the mailboxes of a tenant, none of which is a guest."""
    names = layout.names
    return Searched(
        texts={
            "displayName": (names.display_name, _CN),
            "mail": (names.mail,),
            "userPrincipalName": (names.name,),
        },
        addresses=(names.mail, names.address),
        nicknames=names.name,
        guests=NOTHING,
    )


def is_selective(wanted: Filter) -> bool:
    """Return whether few entries match a filter, and an index finds them."""
    match wanted:
        case AllOf(parts):
            return any(map(is_selective, parts))
        case AnyOf(parts):
            return all(map(is_selective, parts))
        case Equals(path, values):
            return path.member in _SELECTIVE and None not in values
        case HasAddress():
            return True
        case _:
            return False


def search_filter(wanted: Filter, searched: Searched) -> str:
    """Translate a filter.

    Raises Rejected for a comparison that LDAP cannot make.
    """
    match wanted:
        case AllOf(parts):
            return all_of(*[search_filter(part, searched) for part in parts])
        case AnyOf(parts):
            return any_of(*[search_filter(part, searched) for part in parts])
        case Not(part):
            return none_of(search_filter(part, searched))
        case comparison:
            return _comparison(comparison, searched)


def _comparison(comparison: Comparison, searched: Searched) -> str:
    match comparison:
        case HasType(group_type):
            return (searched.types or {}).get(group_type.lower(), NOTHING)
        case HasAddress(address):
            kind, _, plain = address.rpartition(":")
            values = _comparable([plain]) if kind.lower() == "smtp" else []
            return any_of(*[any_value(name, values) for name in searched.addresses]) if values else NOTHING
        case StartsWith(path, text):
            return _starts_with(path, text, searched)
        case Equals(path, values):
            texts = [value for value in values if value is not None]
            parts = [_one_of(path, texts, searched)] if texts else []
            if None in values:
                parts.append(_missing(path, searched))
            return any_of(*parts)


def _one_of(path: Path, texts: Sequence[str], searched: Searched) -> str:
    if path.extension is not None:
        return all_of(_of_extension(path.extension), _mark(path.member, texts))
    match path.member:
        case "id":
            return _ids("entryUUID", texts)
        case "userType":
            return _guests(searched, lambda each: each in {text.lower() for text in texts})
        case "mailNickname" if searched.nicknames is not None:
            return _nicknames(searched.nicknames, [text for text in texts if "@" not in text])
        case member:
            values = [text for text in texts if text.strip()]
            if member == "mail":
                values = _comparable(values)
            return _text(searched.texts[member], lambda name: any_value(name, values)) if values else NOTHING


def _starts_with(path: Path, text: str, searched: Searched) -> str:
    if path.extension is not None:
        raise _not_supported("the beginning of a mark")
    match path.member:
        case "id":
            raise _not_supported("the beginning of an id")
        case "userType":
            return _guests(searched, lambda each: each.startswith(text.lower()))
        case "mailNickname" if searched.nicknames is not None:
            return NOTHING if "@" in text else _beginning(searched.nicknames, text)
        case member:
            if member == "mail" and not text.isascii():
                return NOTHING
            return _text(searched.texts[member], lambda name: _beginning(name, text))


def _missing(path: Path, searched: Searched) -> str:
    if path.extension is not None:
        if path.member != _REQUEST:
            raise _not_supported("a missing mark")
        return none_of(all_of(_of_extension(path.extension), f"({REQUEST_ID}=*)"))
    match path.member:
        case "id" | "userType" | "mailNickname":
            return NOTHING
        case member:
            return none_of(*[f"({name}=*)" for name in searched.texts[member]])


def _text(attributes: Sequence[str], compare: Callable[[str], str]) -> str:
    """Compare the first attribute that an entry has."""
    first, *others = dict.fromkeys(attributes)
    if not others:
        return compare(first)
    return any_of(compare(first), all_of(none_of(f"({first}=*)"), compare(others[0])))


def _beginning(attribute: str, text: str) -> str:
    # Every present value begins with an empty text.
    return f"({attribute}={escaped(text)}*)" if text.strip() else f"({attribute}=*)"


def _nicknames(attribute: str, texts: Sequence[str]) -> str:
    parts = [part for text in texts for part in (equal(attribute, text), f"({attribute}={escaped(text)}@*)")]
    return any_of(*parts) if parts else NOTHING


def _guests(searched: Searched, matches: Callable[[str], bool]) -> str:
    guests = searched.guests or NOTHING
    match matches("member"), matches("guest"):
        case True, True:
            return EVERYTHING
        case True, False:
            return none_of(guests)
        case False, True:
            return guests
        case _:
            return NOTHING


def _of_extension(name: str) -> str:
    return equal(MARK, f"extension={name}")


def _mark(member: str, texts: Sequence[str]) -> str:
    if member == _REQUEST:
        return _ids(REQUEST_ID, texts)
    return any_value(MARK, [f"{member}={text}" for text in texts])


def _ids(attribute: str, texts: Sequence[str]) -> str:
    """Compare ids. Texts that are no ids equal none."""
    ids = [text.lower() for text in texts if WRITTEN_ID.fullmatch(text)]
    return any_value(attribute, ids) if ids else NOTHING


def _comparable(values: Sequence[str]) -> list[str]:
    """Select values of the syntax IA5 String.

    For others, slapd answers neither true nor false.
    """
    return [each for each in values if each.isascii() and each.strip()]


def _not_supported(what: str) -> Rejected:
    return Rejected("filterNotSupported", f"This directory does not compare {what}. Compare the whole value.")
