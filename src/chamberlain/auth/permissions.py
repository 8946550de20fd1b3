# SPDX-License-Identifier: Apache-2.0
"""Permissions of each operation: the table of the API description as data.

Permissions are absolute names: an audience, a slash and a name. None implies another: an administrator without the
permission may do nothing, and the permission to configure does not allow to create.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from types import MappingProxyType

from chamberlain.auth.models import ActorType, Caller
from chamberlain.core.errors import Forbidden


class Operation(Enum):
    """Operations as far as their permissions differ."""

    CREATE_GROUP = auto()
    CREATE_MAILBOX = auto()
    ASSIGN = auto()
    READ_MANAGED = auto()
    ADMINISTER_COLLAB = auto()
    ADMINISTER_MAIL = auto()
    ADMINISTER_SERVICE = auto()
    READ_MAILBOXES = auto()
    READ_REQUESTS = auto()
    CANCEL_OR_RETRY_REQUEST = auto()
    DECIDE_REQUEST = auto()
    NAME_APPROVERS = auto()
    REPLY_BY_MAIL = auto()
    READ_MAILBOX_TEMPLATES = auto()
    READ_COLLAB_TEMPLATES = auto()
    CONFIRM_FINDING = auto()
    READ_DIRECTORY_GROUPS = auto()
    MANAGE_PEOPLE = auto()
    SET_FAULTS = auto()
    READ_ME = auto()
    FIND_PEOPLE = auto()


class Extent(Enum):
    """Extent of a permission: own objects, or all of the tenant."""

    OWN = auto()
    ALL = auto()


@dataclass(frozen=True, slots=True)
class ScopePrefixes:
    """Prefixes of permission names.

    `graph_audience` is None without an embedded directory that requires tokens.
    """

    scope_prefix: str
    insiders_scope_prefix: str
    graph_audience: str | None = None


@dataclass(frozen=True, slots=True)
class Allowance:
    """Extents of a caller's permissions, for all callers and for administrators."""

    plain: Extent | None
    for_administrator: Extent | None

    @property
    def asks_for_administrator(self) -> bool:
        """Return whether the extent depends on the caller being an administrator."""
        return self.for_administrator is not None

    def extent(self, *, is_administrator: bool) -> Extent:
        """Return the extent. Raises Forbidden if only administrators have one."""
        if is_administrator and self.for_administrator is not None:
            return self.for_administrator
        if self.plain is None:
            raise Forbidden(
                "notAdministrator",
                "Only administrators of this tenant may do this. Ask one of them, or ask to become one.",
            )
        return self.plain


def require(caller: Caller, operation: Operation, prefixes: ScopePrefixes) -> Allowance:
    """Return the allowance of the caller's permissions.

    Raises Forbidden with the names that would suffice.
    """
    grants = _resolve(operation, caller.type, prefixes)
    if grants is None:
        raise Forbidden(
            "applicationNotSupported", "An application cannot do this. Use a token that a user gave to the application."
        )
    if grants.names.isdisjoint(caller.permissions):
        if _TABLE[operation].any_token:
            return _OF_ANY_TOKEN
        raise _insufficient(grants)
    return grants.only or _allowance(caller.permissions, grants)


@dataclass(frozen=True, slots=True)
class Match:
    """The permissions of a caller that allow an operation.

    The second counts for administrators only. There is at least one, unless any token is enough.
    """

    plain: str | None
    of_administrator: str | None
    depends_on_administrator: bool

    def name(self, *, is_administrator: bool) -> str:
        """Return the permission that allows the operation."""
        if self.plain is None or (self.depends_on_administrator and is_administrator):
            return self.of_administrator or ""
        return self.plain


def find_match(caller: Caller, operation: Operation, prefixes: ScopePrefixes) -> Match:
    """Return the permissions that allow an operation, the widest of several.

    Raises Forbidden like `require`. The administrators' one matters where the other is for own objects only.
    """
    require(caller, operation, prefixes)
    grants = _resolve(operation, caller.type, prefixes)
    held = [] if grants is None else [each for each in grants.by_name.items() if each[0] in caller.permissions]
    # By the order of the table, because sorting keeps it.
    held.sort(key=lambda each: each[1].extent is not Extent.ALL)
    plain = next((each for each in held if not each[1].administrators_only), None)
    of_administrator = next((each for each in held if each[1].administrators_only), None)
    depends = (
        plain is not None
        and of_administrator is not None
        and plain[1].extent is Extent.OWN
        and of_administrator[1].extent is Extent.ALL
    )
    return Match(plain and plain[0], of_administrator and of_administrator[0], depends)


def is_for_any_token(operation: Operation) -> bool:
    """Return whether the operation needs no permission, only a token."""
    return _TABLE[operation].any_token


@lru_cache(maxsize=16)
def known_names(prefixes: ScopePrefixes) -> frozenset[str]:
    """Return the names of all permissions of the API."""
    permissions = [each for row in _TABLE.values() for each in (*row.delegated, *(row.application or ()))]
    return frozenset(
        name
        for permission in permissions
        if permission.base is not _Base.GRAPH
        for name in _absolute_names(permission, prefixes)
    )


class _Base(Enum):
    """Prefix of a permission name."""

    SCOPE = auto()
    EITHER_SCOPE = auto()
    GRAPH = auto()


@dataclass(frozen=True, slots=True)
class _Permission:
    base: _Base
    name: str
    extent: Extent = Extent.ALL
    administrators_only: bool = False

    def own(self) -> "_Permission":
        """Return the same permission for own objects only."""
        return _Permission(self.base, self.name, Extent.OWN, self.administrators_only)


@dataclass(frozen=True, slots=True)
class _Row:
    """Sufficient permissions; None for applications where they are not supported.

    With `any_token` none is needed.
    """

    delegated: tuple[_Permission, ...]
    application: tuple[_Permission, ...] | None
    any_token: bool = False


# The API description names the insiders prefix for groups. Both are accepted, and the permission to create also
# allows to read.
_COLLAB = _Permission(_Base.EITHER_SCOPE, "collab/App.ReadWrite.All")
_MAIL = _Permission(_Base.SCOPE, "mail/App.ReadWrite.All")
# Delegated, it counts for administrators of the tenant only.
_CONFIG = _Permission(_Base.SCOPE, "admin/Config.ReadWrite.All", administrators_only=True)
_MAIL_MANAGE = _Permission(_Base.SCOPE, "admin/Mail.Manage.ReadWrite.All")
_MAIL_CONFIG = _Permission(_Base.SCOPE, "admin/Mail.Config.ReadWrite.All")
_COLLAB_MANAGE = _Permission(_Base.SCOPE, "admin/Collab.Manage.ReadWrite.All")
_COLLAB_CONFIG = _Permission(_Base.SCOPE, "admin/Collab.Config.ReadWrite.All")
# People and groups by SCIM, for programs that provision them.
_PEOPLE = _Permission(_Base.SCOPE, "directory/People.ReadWrite.All")
# Replies to approval mails, for the mail server of the operator.
_REPLIES = _Permission(_Base.SCOPE, "requests/Replies.ReadWrite.All")
_DIRECTORY_GROUPS = (
    _Permission(_Base.GRAPH, "Group.Read.All"),
    _Permission(_Base.GRAPH, "Group.ReadWrite.All"),
    _Permission(_Base.GRAPH, "Directory.Read.All"),
)

_OF_ANY_TOKEN = Allowance(Extent.OWN, None)
_ASSIGN = _Row((_CONFIG,), (_COLLAB_MANAGE, _COLLAB_CONFIG))
_SERVICE = (_COLLAB_CONFIG, _MAIL_CONFIG)
_REQUESTS = _Row(
    (_COLLAB.own(), _MAIL.own(), _CONFIG),
    (_MAIL_MANAGE.own(), _MAIL_CONFIG.own(), _COLLAB_MANAGE.own(), _COLLAB_CONFIG.own()),
)

_TABLE: Mapping[Operation, _Row] = MappingProxyType(
    {
        Operation.CREATE_GROUP: _Row((_COLLAB,), None),
        Operation.CREATE_MAILBOX: _Row((_MAIL,), (_MAIL_MANAGE, _MAIL_CONFIG)),
        Operation.ASSIGN: _ASSIGN,
        Operation.READ_MANAGED: _ASSIGN,
        Operation.ADMINISTER_COLLAB: _Row((_CONFIG,), (_COLLAB_CONFIG,)),
        Operation.ADMINISTER_MAIL: _Row((_CONFIG,), (_MAIL_CONFIG,)),
        Operation.ADMINISTER_SERVICE: _Row((_CONFIG,), _SERVICE),
        Operation.READ_MAILBOXES: _Row((_MAIL.own(), _CONFIG), (_MAIL_MANAGE, _MAIL_CONFIG)),
        Operation.READ_REQUESTS: _REQUESTS,
        Operation.CANCEL_OR_RETRY_REQUEST: _REQUESTS,
        # Own are here the caller's decisions: even an administrator has to be an approver.
        Operation.DECIDE_REQUEST: _Row((_COLLAB.own(), _MAIL.own(), _CONFIG.own()), None),
        Operation.NAME_APPROVERS: _Row((_CONFIG,), None),
        Operation.REPLY_BY_MAIL: _Row((), (_REPLIES,)),
        Operation.READ_MAILBOX_TEMPLATES: _Row((_MAIL, _CONFIG), (_MAIL_MANAGE, _MAIL_CONFIG)),
        Operation.READ_COLLAB_TEMPLATES: _Row((_COLLAB, _CONFIG), None),
        # Own is here a group that the caller owns, if the policy lets owners confirm.
        Operation.CONFIRM_FINDING: _Row((_CONFIG, _COLLAB.own()), _SERVICE),
        Operation.READ_DIRECTORY_GROUPS: _Row(_DIRECTORY_GROUPS, _DIRECTORY_GROUPS),
        Operation.MANAGE_PEOPLE: _Row((), (_PEOPLE,)),
        Operation.SET_FAULTS: _Row((_CONFIG,), (_PEOPLE,)),
        Operation.FIND_PEOPLE: _Row((_COLLAB, _MAIL, _CONFIG), None),
        Operation.READ_ME: _Row((), (), any_token=True),
    }
)


# The permissions that a sign-in page shows to users, in words for "It can ...". Names are relative to the resource.
PERMISSION_WORDS: Mapping[str, str] = MappingProxyType(
    {
        _COLLAB.name: "Create groups and teams for you",
        _MAIL.name: "Create mailboxes for you",
        _CONFIG.name: "Change templates, rules and settings, if you are an administrator",
        "Group.Read.All": "Read the groups of your organisation",
        "Group.ReadWrite.All": "Read and change the groups of your organisation",
        "User.Read.All": "Read the users of your organisation",
        "Directory.Read.All": "Read the directory of your organisation",
        "Place.Read.All": "Read the rooms of your organisation",
        "Sites.Read.All": "Read the sites of your organisation",
    }
)


@dataclass(frozen=True, slots=True)
class _Grants:
    """One cell of the table with absolute names.

    `only` is the allowance if all of them give the same.
    """

    by_name: Mapping[str, _Permission]
    names: frozenset[str]
    only: Allowance | None


# Called for every request, with few different arguments: cache the absolute names.
@lru_cache(maxsize=1024)
def _resolve(operation: Operation, caller_type: ActorType, prefixes: ScopePrefixes) -> _Grants | None:
    row = _TABLE[operation]
    permissions = row.delegated if caller_type is ActorType.USER else row.application
    if permissions is None:
        return None
    by_name = {name: permission for permission in permissions for name in _absolute_names(permission, prefixes)}
    allowances = {_allowance_of(permission) for permission in permissions}
    return _Grants(by_name, frozenset(by_name), allowances.pop() if len(allowances) == 1 else None)


def _absolute_names(permission: _Permission, prefixes: ScopePrefixes) -> tuple[str, ...]:
    return tuple(f"{base}/{permission.name}" for base in _addresses(permission.base, prefixes))


def _addresses(base: _Base, prefixes: ScopePrefixes) -> tuple[str, ...]:
    match base:
        case _Base.SCOPE:
            return (prefixes.scope_prefix,)
        case _Base.EITHER_SCOPE:
            return (prefixes.insiders_scope_prefix, prefixes.scope_prefix)
        case _Base.GRAPH:
            return () if prefixes.graph_audience is None else (prefixes.graph_audience,)


def _allowance_of(permission: _Permission) -> Allowance:
    if permission.administrators_only:
        return Allowance(None, permission.extent)
    return Allowance(permission.extent, None)


def _allowance(held: frozenset[str], grants: _Grants) -> Allowance:
    """Return the widest extents, for all callers and for administrators."""
    plain: Extent | None = None
    for_administrator: Extent | None = None
    for name in grants.names & held:
        permission = grants.by_name[name]
        if permission.administrators_only:
            for_administrator = permission.extent
        elif plain is not Extent.ALL:
            plain = permission.extent
    return Allowance(plain, for_administrator)


def _insufficient(grants: _Grants) -> Forbidden:
    names = tuple(grants.by_name)
    cure = f"Ask for {' or '.join(names)}." if names else "No permission allows it here."
    return Forbidden("insufficientScope", f"The token lacks a permission for this. {cure}", sufficient=names)
