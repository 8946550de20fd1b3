"""A tenant as its administrators change it."""

from chamberlain.core.constraints_shape import Shape
from chamberlain.core.errors import BodyInvalid
from chamberlain.core.ids import GroupId, UserId
from chamberlain.core.json import parse_object
from chamberlain.core.validation import Reader
from chamberlain.core.validation_fields import ADDED_BY_THE_SERVICE, Domain, Name
from chamberlain.tenants.models import Applicability
from chamberlain.tenants.models_tenant_records import TenantSettings
from chamberlain.tenants.schema import AdministratorsShape, RepairShape, repair_faults

# The operator's: they may be sent, so that what was read can be changed and put back, and are ignored.
_OF_THE_OPERATOR = frozenset({"domains", "extensionPrefix", "limits", "issuers"})
_IGNORED = ADDED_BY_THE_SERVICE | _OF_THE_OPERATOR | {"id"}


class TenantBody(Shape, frozen=True, kw_only=True):
    """What administrators say of their tenant."""

    name: Name
    default_domain: Domain | None = None
    administrators: AdministratorsShape
    repair: RepairShape = RepairShape()
    applicability: Applicability = Applicability.REFUSE


class TenantReader(Reader[TenantBody]):
    """Reads a tenant that is sent: what is not the administrators' to change may come along, and is left out."""

    def read(self, raw: bytes) -> TenantBody:
        """The body, or BodyInvalid with all faults, or Malformed when it is no JSON object."""
        sent = parse_object(raw)
        body = self.read_value({name: each for name, each in sent.items() if name not in _IGNORED})
        if faults := tuple(repair_faults(body.repair, "/repair")):
            raise BodyInvalid(faults)
        return body


TENANT = TenantReader(TenantBody)


def to_tenant_settings(body: TenantBody) -> TenantSettings:
    """The rules' value of it. Domains are kept in lower case."""
    return TenantSettings(
        name=body.name,
        default_domain=None if body.default_domain is None else body.default_domain.lower(),
        users=tuple(UserId(each) for each in body.administrators.users),
        groups=tuple(GroupId(each) for each in body.administrators.groups),
        repairs_drift=body.repair.drift,
        repair_properties=body.repair.properties,
        applicability=body.applicability,
    )
