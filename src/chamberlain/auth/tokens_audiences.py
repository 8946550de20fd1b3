"""Which audiences are ours, and what the permission names in a token mean under one of them."""

from collections.abc import Iterable

from chamberlain.auth.permissions import ScopePrefixes

# A platform may register the parts of the API as resources of their own.
_SEGMENTS = ("", "/collab", "/mail", "/admin")


def api_audiences(prefixes: ScopePrefixes) -> frozenset[str]:
    """The audiences of the API; the directory has its own and takes a set of that one."""
    return frozenset(
        f"{prefix}{segment}"
        for prefix in (prefixes.scope_prefix, prefixes.insiders_scope_prefix)
        for segment in _SEGMENTS
    )


def absolute_names(audience: str, names: Iterable[str], *, shared: bool) -> frozenset[str]:
    """The names as they are compared: audience, slash, name, with nothing resolved, folded or cut.

    A name that is absolute already counts only below the audience, so that one resource's permission never becomes
    another's. In a token that is `shared` with other audiences a relative name may be theirs: only absolute ones count.
    """
    beginning = f"{audience}/"
    absolute = frozenset(name for name in names if name.startswith(beginning))
    if shared:
        return absolute
    return absolute.union(f"{beginning}{name}" for name in names if "://" not in name)
