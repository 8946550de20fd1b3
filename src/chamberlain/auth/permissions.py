"""Who may do what: the table of the API description as data, and the one question that is asked of it.

Permissions are absolute names: an audience, a slash and a name. None is ever inferred from another: an administrator
without the permission may do nothing, and the permission to configure is none to create.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from types import MappingProxyType

from chamberlain.auth.models import ActorType, Caller
from chamberlain.core.errors import Forbidden


class Operation(Enum):
    """What somebody can ask for, as far as permissions tell it apart."""

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
    READ_MAILBOX_TEMPLATES = auto()
    READ_COLLAB_TEMPLATES = auto()
    CONFIRM_FINDING = auto()
    READ_DIRECTORY_GROUPS = auto()


class Extent(Enum):
    """How far a permission goes: to what is the caller's own in the sense of the operation, or to all of the tenant."""

    OWN = auto()
    ALL = auto()


@dataclass(frozen=True, slots=True)
class ScopePrefixes:
    """What permission names begin with; without a directory of ours that asks for tokens, `graph_audience` is None."""

    scope_prefix: str
    insiders_scope_prefix: str
    graph_audience: str | None = None


@dataclass(frozen=True, slots=True)
class Allowance:
    """What the permissions of a caller give: by themselves, and if the caller is an administrator of the tenant."""

    plain: Extent | None
    for_administrator: Extent | None

    @property
    def asks_for_administrator(self) -> bool:
        """Whether it matters that somebody looks up if the caller is an administrator."""
        return self.for_administrator is not None

    def extent(self, *, is_administrator: bool) -> Extent:
        """How far the caller may go, or Forbidden where only an administrator may go on."""
        if is_administrator and self.for_administrator is not None:
            return self.for_administrator
        if self.plain is None:
            raise Forbidden(
                "notAdministrator",
                "Only administrators of this tenant may do this. Ask one of them, or ask to become one.",
            )
        return self.plain


def require(caller: Caller, operation: Operation, prefixes: ScopePrefixes) -> Allowance:
    """What the caller's permissions allow, or Forbidden with the names that would do."""
    grants = _resolve(operation, caller.type, prefixes)
    if grants is None:
        raise Forbidden(
            "applicationNotSupported", "An application cannot do this. Use a token that a user gave to the application."
        )
    if grants.names.isdisjoint(caller.permissions):
        raise _insufficient(grants)
    return grants.only or _allowance(caller.permissions, grants)


class _Base(Enum):
    """What a name of the table begins with."""

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
        """The same permission where it reaches no further than what is the caller's own."""
        return _Permission(self.base, self.name, Extent.OWN, self.administrators_only)


@dataclass(frozen=True, slots=True)
class _Row:
    """Permissions of which one suffices; None for applications where they are not supported."""

    delegated: tuple[_Permission, ...]
    application: tuple[_Permission, ...] | None


# The description names the insiders prefix for groups; both are accepted, and a token that creates must do for reading.
_COLLAB = _Permission(_Base.EITHER_SCOPE, "collab/App.ReadWrite.All")
_MAIL = _Permission(_Base.SCOPE, "mail/App.ReadWrite.All")
# By delegation it counts only for an administrator of the tenant.
_CONFIG = _Permission(_Base.SCOPE, "admin/Config.ReadWrite.All", administrators_only=True)
_MAIL_MANAGE = _Permission(_Base.SCOPE, "admin/Mail.Manage.ReadWrite.All")
_MAIL_CONFIG = _Permission(_Base.SCOPE, "admin/Mail.Config.ReadWrite.All")
_COLLAB_MANAGE = _Permission(_Base.SCOPE, "admin/Collab.Manage.ReadWrite.All")
_COLLAB_CONFIG = _Permission(_Base.SCOPE, "admin/Collab.Config.ReadWrite.All")
_DIRECTORY_GROUPS = (
    _Permission(_Base.GRAPH, "Group.Read.All"),
    _Permission(_Base.GRAPH, "Group.ReadWrite.All"),
    _Permission(_Base.GRAPH, "Directory.Read.All"),
)

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
        # Own is here what the caller has to decide: not even an administrator decides without being an approver.
        Operation.DECIDE_REQUEST: _Row((_COLLAB.own(), _MAIL.own(), _CONFIG.own()), None),
        Operation.NAME_APPROVERS: _Row((_CONFIG,), None),
        Operation.READ_MAILBOX_TEMPLATES: _Row((_MAIL, _CONFIG), (_MAIL_MANAGE, _MAIL_CONFIG)),
        Operation.READ_COLLAB_TEMPLATES: _Row((_COLLAB, _CONFIG), None),
        # Own is here a group that the caller owns, where the policy lets owners confirm.
        Operation.CONFIRM_FINDING: _Row((_CONFIG, _COLLAB.own()), _SERVICE),
        Operation.READ_DIRECTORY_GROUPS: _Row(_DIRECTORY_GROUPS, _DIRECTORY_GROUPS),
    }
)


@dataclass(frozen=True, slots=True)
class _Grants:
    """One cell of the table with absolute names; `only` is the answer where all of them give the same."""

    by_name: Mapping[str, _Permission]
    names: frozenset[str]
    only: Allowance | None


# Called for every request, with few different arguments: the table is turned into names once.
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
    """The widest that the permissions give, with and without being an administrator."""
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
