# SPDX-License-Identifier: Apache-2.0
"""All operations of the API on one screen, by their OpenAPI names."""

from enum import Enum

from msgspec import Struct


class Server(Enum):
    """The address that serves an operation."""

    BASE = "base"
    INSIDERS = "insiders"
    GRAPH = "graph"


class Operation(Struct, frozen=True):
    """One operation: name, method and path.

    Ids in the path are in braces.
    """

    id: str
    method: str
    path: str
    server: Server = Server.BASE


# fmt: off
READ_ME = Operation("readMe", "GET", "/me/v1/")
CREATE_GROUP = Operation("createGroup", "POST", "/collab/v1/groups/", Server.INSIDERS)
LIST_REQUESTS = Operation("listRequests", "GET", "/requests/v1/")
READ_REQUEST = Operation("readRequest", "GET", "/requests/v1/{requestId}/")
WATCH_REQUEST = Operation("watchRequest", "GET", "/requests/v1/{requestId}/events/")
APPROVE_REQUEST = Operation("approveRequest", "POST", "/requests/v1/{requestId}/approve/")
REJECT_REQUEST = Operation("rejectRequest", "POST", "/requests/v1/{requestId}/reject/")
NAME_APPROVERS = Operation("nameApprovers", "POST", "/requests/v1/{requestId}/approvers/")
CANCEL_REQUEST = Operation("cancelRequest", "POST", "/requests/v1/{requestId}/cancel/")
RETRY_REQUEST = Operation("retryRequest", "POST", "/requests/v1/{requestId}/retry/")
FIND_PEOPLE = Operation("findPeople", "GET", "/directory/v1/people/")
REPLY_TO_APPROVAL = Operation("replyToApproval", "POST", "/requests/v1/replies/")
READ_SUBSTITUTE = Operation("readSubstitute", "GET", "/me/v1/substitute/")
NAME_SUBSTITUTE = Operation("nameSubstitute", "PUT", "/me/v1/substitute/")
WITHDRAW_SUBSTITUTE = Operation("withdrawSubstitute", "DELETE", "/me/v1/substitute/")
LIST_JOBS = Operation("listJobs", "GET", "/admin/v1/jobs/")
RELEASE_JOB = Operation("releaseJob", "POST", "/admin/v1/jobs/{jobId}/release/")
LIST_DELIVERIES = Operation("listDeliveries", "GET", "/admin/v1/deliveries/")
REDELIVER_SPAN = Operation("redeliverSpan", "POST", "/admin/v1/deliveries/redeliver/")
REDELIVER_DELIVERY = Operation("redeliverDelivery", "POST", "/admin/v1/deliveries/{deliveryId}/redeliver/")
LIST_AUDIT = Operation("listAudit", "GET", "/admin/v1/audit/")
CREATE_MAILBOX = Operation("createMailbox", "POST", "/mail/v1/mailboxes/")
LIST_MAILBOXES = Operation("listMailboxes", "GET", "/mail/v1/mailboxes/")
READ_MAILBOX = Operation("readMailbox", "GET", "/mail/v1/mailboxes/{mailboxId}/")
LIST_OFFERED_MAILBOX_TEMPLATES = Operation("listOfferedMailboxTemplates", "GET", "/mail/v1/templates/")
READ_OFFERED_MAILBOX_TEMPLATE = Operation("readOfferedMailboxTemplate", "GET", "/mail/v1/templates/{templateId}/")
LIST_MAILBOX_TEMPLATES = Operation("listMailboxTemplates", "GET", "/admin/mail/v1/templates/")
CREATE_MAILBOX_TEMPLATE = Operation("createMailboxTemplate", "POST", "/admin/mail/v1/templates/")
READ_MAILBOX_TEMPLATE = Operation("readMailboxTemplate", "GET", "/admin/mail/v1/templates/{templateId}/")
REPLACE_MAILBOX_TEMPLATE = Operation("replaceMailboxTemplate", "PUT", "/admin/mail/v1/templates/{templateId}/")
DELETE_MAILBOX_TEMPLATE = Operation("deleteMailboxTemplate", "DELETE", "/admin/mail/v1/templates/{templateId}/")
TEST_MAILBOX_TEMPLATE_WEBHOOK = Operation(
    "testMailboxTemplateWebhook", "POST", "/admin/mail/v1/templates/{templateId}/webhook/test/")
ROTATE_MAILBOX_TEMPLATE_WEBHOOK = Operation(
    "rotateMailboxTemplateWebhook", "POST", "/admin/mail/v1/templates/{templateId}/webhook/rotate/")
LIST_MANAGED_GROUPS = Operation("listManagedGroups", "GET", "/admin/collab/v1/manage/groups/")
READ_MANAGED_GROUP = Operation("readManagedGroup", "GET", "/admin/collab/v1/manage/groups/{groupId}/")
ASSIGN_TO_GROUP = Operation("assignToGroup", "PATCH", "/admin/collab/v1/manage/groups/{groupId}/")
LIST_MANAGED_SITES = Operation("listManagedSites", "GET", "/admin/collab/v1/manage/spo/")
READ_MANAGED_SITE = Operation("readManagedSite", "GET", "/admin/collab/v1/manage/spo/{securityGroupId}/")
ASSIGN_TO_SITE = Operation("assignToSite", "PATCH", "/admin/collab/v1/manage/spo/{securityGroupId}/")
CREATE_ADOPTION = Operation("createAdoption", "POST", "/admin/v1/adoptions/")
LIST_ADOPTIONS = Operation("listAdoptions", "GET", "/admin/v1/adoptions/")
READ_ADOPTION = Operation("readAdoption", "GET", "/admin/v1/adoptions/{adoptionId}/")
UNDO_ADOPTION = Operation("undoAdoption", "POST", "/admin/v1/adoptions/{adoptionId}/undo/")
CREATE_RELEASE = Operation("createRelease", "POST", "/admin/v1/releases/")
LIST_RELEASES = Operation("listReleases", "GET", "/admin/v1/releases/")
READ_RELEASE = Operation("readRelease", "GET", "/admin/v1/releases/{releaseId}/")
LIST_CONNECTIONS = Operation("listConnections", "GET", "/admin/v1/connections/")
CREATE_CONNECTION = Operation("createConnection", "POST", "/admin/v1/connections/")
READ_CONNECTION = Operation("readConnection", "GET", "/admin/v1/connections/{connectionId}/")
CHANGE_CONNECTION = Operation("changeConnection", "PATCH", "/admin/v1/connections/{connectionId}/")
DELETE_CONNECTION = Operation("deleteConnection", "DELETE", "/admin/v1/connections/{connectionId}/")
CHECK_CONNECTION = Operation("checkConnection", "POST", "/admin/v1/connections/{connectionId}/check/")
LIST_FINDINGS = Operation("listFindings", "GET", "/admin/v1/findings/")
ACCEPT_FINDING = Operation("acceptFinding", "POST", "/admin/v1/findings/{findingId}/accept/")
IGNORE_FINDING = Operation("ignoreFinding", "POST", "/admin/v1/findings/{findingId}/ignore/")
REPAIR_FINDING = Operation("repairFinding", "POST", "/admin/v1/findings/{findingId}/repair/")
CONFIRM_FINDING = Operation("confirmFinding", "POST", "/admin/v1/findings/{findingId}/confirm/")
CHECK_DRIFT = Operation("checkDrift", "POST", "/admin/v1/drift/check/")
REPORT_PERMISSIONS = Operation("reportPermissions", "GET", "/admin/v1/permissions/report/")
READ_FIGURES = Operation("readFigures", "GET", "/admin/v1/figures/")
LIST_EVENTS = Operation("listEvents", "GET", "/admin/v1/events/")
STREAM_EVENTS = Operation("streamEvents", "GET", "/admin/v1/events/stream/")
LIST_OFFERED_GROUP_TEMPLATES = Operation("listOfferedGroupTemplates", "GET", "/collab/v1/templates/")
READ_OFFERED_GROUP_TEMPLATE = Operation("readOfferedGroupTemplate", "GET", "/collab/v1/templates/{templateId}/")
LIST_COLLAB_TEMPLATES = Operation("listCollabTemplates", "GET", "/admin/collab/v1/templates/")
CREATE_COLLAB_TEMPLATE = Operation("createCollabTemplate", "POST", "/admin/collab/v1/templates/")
READ_COLLAB_TEMPLATE = Operation("readCollabTemplate", "GET", "/admin/collab/v1/templates/{templateId}/")
REPLACE_COLLAB_TEMPLATE = Operation("replaceCollabTemplate", "PUT", "/admin/collab/v1/templates/{templateId}/")
DELETE_COLLAB_TEMPLATE = Operation("deleteCollabTemplate", "DELETE", "/admin/collab/v1/templates/{templateId}/")
TEST_COLLAB_TEMPLATE_WEBHOOK = Operation(
    "testCollabTemplateWebhook", "POST", "/admin/collab/v1/templates/{templateId}/webhook/test/")
ROTATE_COLLAB_TEMPLATE_WEBHOOK = Operation(
    "rotateCollabTemplateWebhook", "POST", "/admin/collab/v1/templates/{templateId}/webhook/rotate/")
LIST_POLICIES = Operation("listPolicies", "GET", "/admin/collab/v1/policies/")
CREATE_POLICY = Operation("createPolicy", "POST", "/admin/collab/v1/policies/")
READ_POLICY = Operation("readPolicy", "GET", "/admin/collab/v1/policies/{policyId}/")
REPLACE_POLICY = Operation("replacePolicy", "PUT", "/admin/collab/v1/policies/{policyId}/")
DELETE_POLICY = Operation("deletePolicy", "DELETE", "/admin/collab/v1/policies/{policyId}/")
SIMULATE_POLICY = Operation("simulatePolicy", "POST", "/admin/collab/v1/policies/{policyId}/simulate/")
READ_TENANT = Operation("readTenant", "GET", "/admin/v1/tenant/")
REPLACE_TENANT = Operation("replaceTenant", "PUT", "/admin/v1/tenant/")
PLAN_CONFIGURATION = Operation("planConfiguration", "POST", "/admin/v1/configuration/plan/")
APPLY_CONFIGURATION = Operation("applyConfiguration", "POST", "/admin/v1/configuration/apply/")
# fmt: on

# An operation of the directory, which the OpenAPI document does not describe.
FIND_GROUP = Operation("findGroup", "GET", "/v1.0/groups", Server.GRAPH)
