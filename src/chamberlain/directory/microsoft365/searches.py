# SPDX-License-Identifier: Apache-2.0
"""Filters of groups and users as `$filter` of Graph. Pure.

Graph ignores letter case, as the filters do. A comparison that is true, or false, of every object is a constant: Graph
refuses some of them, such as an id that is no id.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from chamberlain.core.directory_filters import Comparison, Equals, Filter, HasAddress, HasType, Path, StartsWith
from chamberlain.core.errors import Rejected
from chamberlain.core.expressions import AllOf, AnyOf, Not
from chamberlain.core.ids import WRITTEN_ID
from chamberlain.directory.microsoft365.operations import text

# Properties that every object has. Only `mail` may be missing.
_ALWAYS: Final = frozenset({"id", "displayName", "mailNickname", "userPrincipalName", "userType"})
_USER_TYPES: Final = ("Member", "Guest")


@dataclass(frozen=True, slots=True)
class Condition:
    """A filter of Graph. An advanced one needs `ConsistencyLevel: eventual` and `$count=true`."""

    text: str
    is_advanced: bool = False


# False matches nothing, and True everything.
Translated: TypeAlias = Condition | bool


def translate(wanted: Filter, extensions: Collection[str]) -> Translated:
    """Translate a filter.

    `extensions` are the schema extensions that the objects may have. Raises Rejected for a comparison that Graph cannot
    make.
    """
    match wanted:
        case AllOf(parts):
            return _joined("and", [translate(part, extensions) for part in parts], decides=False)
        case AnyOf(parts):
            return _joined("or", [translate(part, extensions) for part in parts], decides=True)
        case Not(part):
            inner = translate(part, extensions)
            return not inner if isinstance(inner, bool) else Condition(f"not ({inner.text})", is_advanced=True)
        case comparison:
            return _comparison(comparison, extensions)


def query_of(condition: Condition | None) -> dict[str, str]:
    """Return the query options of a condition; there are none without one."""
    if condition is None:
        return {}
    return {"$filter": condition.text, **({"$count": "true"} if condition.is_advanced else {})}


def headers_of(condition: Condition | None) -> dict[str, str]:
    """Return the headers of a condition."""
    return {"ConsistencyLevel": "eventual"} if condition is not None and condition.is_advanced else {}


def extensions_in(wanted: Filter) -> Iterator[str]:
    """Iterate over the schema extensions of a filter."""
    match wanted:
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from extensions_in(part)
        case Not(part):
            yield from extensions_in(part)
        case Equals(Path(str(extension))) | StartsWith(Path(str(extension))):
            yield extension
        case _:
            pass


def _joined(word: str, parts: Sequence[Translated], *, decides: bool) -> Translated:
    """Join conditions.

    One constant decides the result; the other one is left out.
    """
    if any(part is decides for part in parts):
        return decides
    left = [part for part in parts if isinstance(part, Condition)]
    if len(left) < 2:
        return left[0] if left else not decides
    return Condition(f" {word} ".join(f"({each.text})" for each in left), any(each.is_advanced for each in left))


def _comparison(comparison: Comparison, extensions: Collection[str]) -> Translated:
    match comparison:
        case HasType(group_type):
            return Condition(f"groupTypes/any(c:c eq {text(group_type)})")
        case HasAddress(address):
            return Condition(f"proxyAddresses/any(c:c eq {text(address)})")
        case StartsWith(path, start):
            return _starts_with(path, start)
        case Equals(path, values):
            texts = [value for value in values if value is not None]
            found = [_one_of(path, texts, extensions)]
            if None in values:
                found.append(_missing(path, extensions))
            return _joined("or", found, decides=True)


def _one_of(path: Path, texts: Sequence[str], extensions: Collection[str]) -> Translated:
    if path.extension is not None:
        known = texts if path.extension in extensions else ()
        found = [Condition(f"{path.extension}/{path.member} eq {text(each)}") for each in known]
        return _joined("or", found, decides=True)
    is_possible: Callable[[str], object] = WRITTEN_ID.fullmatch if path.member == "id" else str.strip
    written = [text(each) for each in texts if is_possible(each)]
    if len(written) < 2:
        return Condition(f"{path.member} eq {written[0]}") if written else False
    return Condition(f"{path.member} in ({','.join(written)})")


def _missing(path: Path, extensions: Collection[str]) -> Translated:
    if path.extension is not None:
        name = f"{path.extension}/{path.member}"
        return Condition(f"{name} eq null", is_advanced=True) if path.extension in extensions else True
    return False if path.member in _ALWAYS else Condition(f"{path.member} eq null", is_advanced=True)


def _starts_with(path: Path, start: str) -> Translated:
    if path.extension is not None:
        raise _not_supported("the beginning of a mark")
    match path.member:
        case "id":
            raise _not_supported("the beginning of an id")
        case "userType":
            return _one_of(path, [each for each in _USER_TYPES if each.lower().startswith(start.lower())], ())
        case member if start:
            return Condition(f"startswith({member},{text(start)})")
        case member:
            return True if member in _ALWAYS else Condition(f"not ({member} eq null)", is_advanced=True)


def _not_supported(what: str) -> Rejected:
    return Rejected("filterNotSupported", f"Microsoft 365 does not compare {what}. Compare the whole value.")
