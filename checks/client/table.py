# SPDX-License-Identifier: Apache-2.0
"""The table of the models: all that the document does not say.

The order is that of the generated module: a class follows the classes that it uses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, kw_only=True)
class Words:
    """An open enumeration.

    - `words`: the order of the members, which the document sorts. For numbers, the names of 0, 1, 2.
    - `schema`: the schema, if the name differs, or `Schema.property` for an enumeration without a name.
    - `members`: added as it is.
    """

    name: str
    words: str
    schema: str = ""
    members: str = ""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A class of values.

    - `schema`: one or several schemas, if the name differs. A property that only some of them require may be UNSET.
    - `shared`: the class has only the properties that all its schemas have.
    - `body`: an optional property may be UNSET or None.
    - `positional`: the constructor takes positional arguments.
    - `types`, `defaults`: replace those of a field. `names`: the field of a property, if it is not its snake_case.
    - `members`: added as it is, after the fields of the document.
    """

    name: str
    schema: str = ""
    base: str = "Model"
    shared: bool = False
    body: bool = False
    positional: bool = False
    omit_defaults: bool = False
    types: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    members: str = ""


@dataclass(frozen=True)
class Union:
    """A name for one of several classes."""

    name: str
    classes: tuple[str, ...]


# Schemas without a class of their own. The SDK builds these bodies from arguments, and decodes pages and problems
# without a model for each.
OMITTED = {
    "AcceptanceBody",
    "ActionBody",
    "AdoptionBody",
    "AdoptionFilterBody",
    "ApproversBody",
    "AssignmentBody",
    "CollabTemplatePage",
    "ConnectionBody",
    "ConnectionPage",
    "ConfigurationDocument",
    "EventFeed",
    "FeedEvent",
    "FoundPeople",
    "Health",
    "HealthCheck",
    "ServiceHealth",
    "NewConnectionBody",
    "Problem",
    "RedeliveryBody",
    "ReleaseBody",
    "ReplyBody",
    "ServiceDescription",
    "SimulationBody",
    "SubstituteBody",
}

# Enumerations that grow with most versions are text.
TEXT = {"DriftProperty", "Step", "SubjectType"}

# Enumerations without a name in the document, by property. All others are text.
UNNAMED = {
    "action": "PolicyAction",
    "addedBy": "GuestAdders",
    "confirmedBy": "Confirmers",
    "kind": "TemplateKind",
    "presentGuests": "PresentGuests",
    "sharingCapability": "SharingCapability",
}

HEADERS = """\
retry_after: float | None = None
replayed: bool = False
"""

REQUEST_STATE = """
@property
def has_ended(self) -> bool:
    \"\"\"Whether the request has ended. A failed one can be retried.\"\"\"
    return self in {"succeeded", "failed", "rejected", "cancelled", "expired"}
"""

REQUEST = """
@property
def has_ended(self) -> bool:
    \"\"\"Whether the request has ended. A failed one can be retried.\"\"\"
    return self.state.has_ended or (not self.state.is_known and self.finished_at is not None)
"""

MODELS: tuple[Words | Shape | Union, ...] = (
    # Callers, people and names.
    Words(name="ActorType", words="user application system"),
    Shape(name="Actor", positional=True),
    Shape(name="Person", schema="DryRunPerson NamedApprover", positional=True),
    Shape(name="Named", schema="Template DryRunTemplate Assigned", positional=True),
    Shape(name="Fault", schema="Fault RequestFault DryRunConflict", base="Struct", positional=True),
    # Requests.
    Words(name="RequestKind", words="shared equipment room group team assignment repair"),
    Words(
        name="RequestState",
        words="pendingApproval queued running waiting succeeded failed rejected cancelled expired",
        members=REQUEST_STATE,
    ),
    Words(name="StepState", words="pending running waiting succeeded warning failed"),
    Words(name="ApprovalMode", words="any all"),
    Words(name="ApprovalState", words="notReached pending approved rejected blocked"),
    Words(name="DecisionOutcome", words="approved rejected"),
    Words(name="Action", words="approve reject cancel retry"),
    Shape(
        name="Waiting",
        positional=True,
        defaults={"ends_at": "None", "reason_code": "None", "reason_values": "None"},
    ),
    Shape(name="RequestError", positional=True),
    Shape(name="Result", positional=True),
    Shape(name="StepShortfall", positional=True),
    Shape(
        name="RequestStep",
        positional=True,
        defaults={"reason_code": "None", "reason_values": "None", "shortfall": "None"},
    ),
    Shape(name="RequestWarning", positional=True),
    Shape(name="Decision", schema="ApprovalDecision", positional=True),
    Shape(name="ApprovalSubstitute", positional=True),
    Shape(name="Approval", positional=True),
    Shape(name="RequestSummary", members=REQUEST, defaults={"warning_reasons": "()", "shortfalls": "0"}),
    Shape(name="RequestField", positional=True),
    Shape(name="Request", base="RequestSummary", defaults={"fields": "()"}),
    Shape(name="ReplyDecision"),
    Shape(name="SubstitutedUser"),
    Shape(name="Substitutions"),
    # Templates.
    Words(name="TemplateKind", words="shared equipment room group team guest"),
    Words(name="FieldType", words="text boolean choice user"),
    Words(
        name="ApproverType",
        words="user group manager",
        schema="UserApprover.type GroupApprover.type ManagerApprover.type",
    ),
    Shape(name="Audience", schema="AudienceShape"),
    Shape(name="Choice", schema="ChoiceShape", positional=True),
    Shape(
        name="CustomField",
        schema="CustomFieldShape TemplateField",
        types={"required": "bool", "choices": "tuple[Choice, ...] | UnsetType"},
        defaults={"required": "False"},
    ),
    Shape(name="Approver", schema="UserApprover GroupApprover ManagerApprover", types={"type": "ApproverType"}),
    Shape(name="ApprovalLevel", schema="ApprovalLevelShape"),
    Shape(name="ApprovalRule", schema="ApprovalShape"),
    Shape(name="TemplateWebhook", schema="TemplateWebhook WebhookBody"),
    Shape(name="RotatedSecret", types={"secret": "str | None"}, defaults={"secret": "None"}),
    # Mailboxes.
    Words(name="MailboxType", words="shared equipment room"),
    Words(name="PermissionLevel", words="None SendAs FullAccess"),
    Words(name="TemplateSource", words="request default"),
    Words(
        name="ProvisioningState", words="pendingApproval queued provisioning active failed rejected cancelled expired"
    ),
    Shape(name="RoomMetadata", schema="RoomMailboxMetadataShape", omit_defaults=True),
    Shape(
        name="MailboxProperties",
        schema="MailboxDefaultsShape",
        body=True,
        types={"permissions": "Mapping[str, PermissionLevel] | UnsetType | None"},
    ),
    Shape(name="NewMailbox", schema="MailboxBody", base="MailboxProperties", body=True),
    Shape(name="Mailbox", defaults={"warning_reasons": "()"}),
    Shape(name="AcceptedMailbox", base="Mailbox", members=HEADERS),
    Shape(name="MailboxNaming", schema="MailboxNamingShape"),
    Shape(name="NewMailboxTemplate", schema="MailboxTemplateBody", body=True),
    Shape(name="MailboxTemplate", base="Versioned"),
    Shape(name="OfferedMailboxTemplate"),
    Shape(name="FormField", types={"choices": "tuple[Choice, ...] | UnsetType"}),
    Shape(name="MailboxTemplateForm"),
    # Groups and teams.
    Words(name="MemberShipType", words="private public dynamic"),
    Shape(name="NewGroup", schema="GroupBody", body=True),
    Shape(name="Group", positional=True),
    Shape(
        name="AcceptedGroup",
        schema="CreatedGroup AcceptedGroup",
        types={"group": "Group | None"},
        defaults={"group": "None"},
        members=HEADERS,
    ),
    Words(name="GuestAdders", words="members owners administrators", schema="GuestsShape.addedBy"),
    Words(name="PresentGuests", words="keep remove", schema="GuestTemplate.presentGuests"),
    Words(name="SharingCapability", words="disabled existingGuests newAndExistingGuests anyone", schema="Sharing"),
    Shape(name="GroupNaming", schema="GroupNamingShape"),
    Shape(name="Guests", schema="GuestsShape"),
    Shape(name="NewGroupTemplate", schema="GroupTemplateBody", body=True),
    Shape(name="NewGuestTemplate", schema="GuestTemplateBody", body=True, defaults={"kind": "TemplateKind.GUEST"}),
    Shape(name="GroupTemplate", schema="TeamTemplate GroupTemplate", base="Versioned"),
    Shape(name="GuestTemplate", base="Versioned"),
    Union("CollabTemplate", ("GroupTemplate", "GuestTemplate")),
    Union("NewCollabTemplate", ("NewGroupTemplate", "NewGuestTemplate")),
    Shape(name="OfferedGroupTemplate"),
    Shape(name="OfferedLabel", positional=True),
    Shape(name="GroupTemplateForm"),
    Shape(
        name="DirectoryGroup",
        members="""
id: UUID
display_name: str
description: str | None = None
mail: str | None = None
mail_nickname: str | None = None
group_types: tuple[str, ...] = ()
visibility: str | None = None
created_date_time: str | None = None
""",
    ),
    Shape(name="DirectoryGroups", positional=True, members="value: tuple[DirectoryGroup, ...]"),
    # Dry runs.
    Shape(name="DryRunLevel", positional=True),
    Shape(name="DryRunStep", positional=True),
    Shape(
        name="DryRun",
        schema="DryRunGroup DryRunMailbox",
        shared=True,
        types={"kind": "RequestKind"},
        defaults={"dry_run": "True", "warning_reasons": "()"},
    ),
    Shape(name="DryRunGroup", base="DryRun"),
    Shape(name="DryRunMailbox", base="DryRun"),
    # Guest rules.
    Shape(name="Subject", schema="FoundAbout SimulatedSubject", positional=True),
    Shape(name="Effect", defaults={"reason_code": "None", "reason_values": "None", "shortfall": "None"}),
    Shape(name="Managed", schema="ManagedGroup ManagedSite", base="Versioned", shared=True),
    Shape(name="ManagedGroup", base="Managed"),
    Shape(name="ManagedSite", base="Managed"),
    Words(
        name="FindingKind",
        words="drift guestAgainstRule guestExpired reviewDue guestInactive tooFewOwners repairDoesNotHold",
    ),
    Words(name="FindingState", words="open repaired accepted ignored gone"),
    Shape(name="Acceptance", positional=True),
    Shape(name="Finding", defaults={"acceptance": "None", "repair_request_id": "None"}),
    Shape(name="Shortfall", positional=True, types={"values": "dict[str, str]"}),
    Shape(name="DryRunGuest", positional=True),
    Shape(name="DryRunRemoval"),
    Shape(name="DryRunFinding"),
    Shape(name="DryRunAssignment"),
    Words(name="PolicyAction", words="notify disable remove"),
    Words(name="Confirmers", words="owners administrators", schema="ReviewShape.confirmedBy"),
    Shape(name="Expiry", schema="ExpiryShape"),
    Shape(name="Review", schema="ReviewShape"),
    Shape(name="Inactivity", schema="InactivityShape"),
    Shape(name="MinimumOwners", schema="MinimumOwnersShape"),
    Shape(name="NewPolicy", schema="PolicyBody", body=True),
    Shape(name="Policy", base="Versioned"),
    Words(name="OccurrenceType", words="finding reminder action"),
    Shape(name="SimulatedGuest", positional=True),
    Shape(name="SimulatedOccurrence"),
    Shape(name="SimulatedCounts", positional=True, types={"findings": "dict[str, int]", "actions": "dict[str, int]"}),
    Shape(name="SimulatedPolicy", names={"from": "since", "to": "until"}),
    # Administration.
    Words(name="Applicability", words="refuse warn"),
    Words(name="Treatment", words="managed observed ignored"),
    Shape(name="Administrators", schema="AdministratorsShape"),
    Shape(
        name="Repair",
        schema="RepairShape",
        types={"properties": "Mapping[str, Treatment]"},
        defaults={"properties": "{}"},
    ),
    Shape(name="Limits", schema="LimitsShape"),
    Shape(name="Issuer", schema="IssuerShape"),
    Shape(name="TenantSettings", schema="TenantBody", body=True),
    Shape(name="Tenant", base="Versioned"),
    Words(name="ChangeVerb", words="create change remove"),
    Words(name="ConfigurationNoun", words="tenant template policy assignment connection"),
    Shape(name="ConfigurationCounts", positional=True),
    Shape(name="ConfigurationChange"),
    Shape(name="ConfigurationPlan"),
    Words(name="AdoptedKind", words="shared equipment room group team"),
    Words(name="AdoptionState", words="running succeeded undoing undone"),
    Shape(name="AdoptionFilter", positional=True, defaults={"q": "None", "domain": "None", "ids": "None"}),
    Shape(name="Adoptable", positional=True),
    Shape(name="NotAdoptable", positional=True),
    Shape(name="PreviewCounts", positional=True),
    Shape(name="AdoptionPreview", types={"kind": "AdoptedKind"}, defaults={"dry_run": "True"}),
    Shape(name="AdoptionCounts", positional=True),
    Shape(
        name="Adoption",
        schema="WholeAdoption Adoption",
        types={"kind": "AdoptedKind", "refused": "tuple[NotAdoptable, ...]"},
        defaults={"refused": "()"},
    ),
    Words(name="ReleaseType", words="mailbox group team assignment"),
    Words(name="ReleaseState", words="running succeeded"),
    Shape(name="ReleasedObject", positional=True),
    Shape(name="RemarkedObject", positional=True),
    Shape(name="ReleasePreviewCounts", positional=True),
    Shape(name="ReleasePreview", defaults={"dry_run": "True"}),
    Shape(name="ReleaseCounts", positional=True),
    Shape(
        name="Release",
        schema="WholeRelease Release",
        types={"remarks": "tuple[RemarkedObject, ...]"},
        defaults={"remarks": "()"},
    ),
    Words(name="AdapterName", schema="Adapter", words="embedded opensuite microsoft365"),
    Words(name="ConnectionState", words="new consented ready broken"),
    Shape(name="ConnectionReason", positional=True),
    Shape(name="Connection", base="Versioned", types={"adapter": "AdapterName"}),
    Shape(name="DriftCheck"),
    Shape(name="FoundPerson"),
    Shape(name="Me", types={"kind": "ActorType"}),
    Shape(name="DayCount", positional=True),
    Shape(name="ReadyTimes"),
    Shape(name="QueueFigures", positional=True),
    Shape(name="FindingFigures", positional=True),
    Shape(name="DeliveryFigures", positional=True),
    Shape(name="Figures"),
    Shape(name="UsedPermission", positional=True),
    Shape(name="CallerPermissions", types={"kind": "ActorType"}),
    Shape(name="PermissionNeeder", positional=True, types={"kind": "str"}),
    Shape(name="DirectoryPermission", positional=True),
    Shape(name="PermissionReport"),
    Shape(name="AuditProgram", positional=True),
    Shape(name="AuditSubject", positional=True),
    Shape(name="Seal", positional=True),
    Shape(name="AuditRow", defaults={"client_address": "None"}),
    Words(name="DeliveryState", words="pending succeeded failed cancelled"),
    Shape(name="Attempt"),
    Shape(name="Delivery"),
    Shape(name="Redelivered", positional=True),
    Shape(name="Job"),
)
