# SPDX-License-Identifier: Apache-2.0
"""Docstrings of models whose OpenAPI description does not fit.

Such a model has several schemas, or its description speaks of JSON where the SDK has UNSET and None.
"""

DOCSTRINGS = {
    "Person": "A person by name. The name is empty while the directory does not answer.",
    "Named": "A template or policy by name.",
    "Fault": "One fault of a body. `pointer` is the JSON Pointer to it, empty for a fault outside the body.",
    "RequestState": "The state of a request.",
    "StepState": "The state of one step.",
    "ApprovalState": "The state of one level of approval.",
    "DecisionOutcome": "The decision of an approver.",
    "Action": "An action on a request that its caller may perform now.",
    "Decision": "The decision of one approver.",
    "ApproverType": "The type of an approver.",
    "Audience": "Users who may use a template: `users`, and the members of `groups`.",
    "CustomField": "A field of a template. Only a field of type choice has `choices`.",
    "Approver": "An approver of a template. The manager of the requester has no `id`.",
    "TemplateWebhook": (
        "The webhook of a template. `secret` is shown once, in the response that generates it. The service keeps the "
        "values of properties that are UNSET."
    ),
    "RotatedSecret": (
        "The new secret of a webhook, shown only here. `secret` is None in the response to a repeated call. The "
        "previous secret also signs until `previous_secret_until`."
    ),
    "PermissionLevel": "The permission of a user for a mailbox; `NONE` removes it.",
    "ProvisioningState": "The provisioning state of a mailbox.",
    "RoomMetadata": "The equipment of a room.",
    "MailboxProperties": "Properties of a mailbox, or the defaults of a template. The SDK does not send UNSET.",
    "NewMailbox": (
        "A mailbox to request. Without a template, its properties decide its type. The SDK does not send UNSET."
    ),
    "Mailbox": "A mailbox. A property without a value is None.",
    "AcceptedMailbox": (
        "A mailbox whose request is stored; it may exist already. `retry_after` is the number of seconds before the "
        "first poll. `replayed` says whether this is the response to an earlier call with the same idempotency key."
    ),
    "NewMailboxTemplate": "A template of mailboxes to create, or to replace one. The SDK does not send UNSET.",
    "MemberShipType": "How users become members. The owners add them, all may join, or a rule decides.",
    "NewGroup": "A group or team to request; the template decides. The SDK does not send UNSET.",
    "AcceptedGroup": (
        "A group or team whose request is stored. `group` is None unless it was created within the wait. "
        "`retry_after` is the number of seconds before the first poll. `replayed` says whether this is the response "
        "to an earlier call with the same idempotency key."
    ),
    "GuestAdders": "Users who may add guests.",
    "PresentGuests": "The treatment of guests who violate the rule.",
    "SharingCapability": "The external sharing of a site.",
    "NewGroupTemplate": "A template of groups or teams to create, or to replace one. The SDK does not send UNSET.",
    "NewGuestTemplate": "A guest template to create, or to replace one. The SDK does not send UNSET.",
    "GroupTemplate": "A template of groups or teams, whole. Only one of teams has `channels`.",
    "DirectoryGroup": "A group as the directory shows it. The OpenAPI document does not describe the directory.",
    "DirectoryGroups": "A collection of the directory.",
    "DryRun": "The result of a dry run. The service would refuse `conflicts` with 409 now.",
    "DryRunGroup": "The dry run of a group or team. `member_count` is None if a rule decides.",
    "DryRunMailbox": "The dry run of a mailbox.",
    "Subject": "The group, site or mailbox of a finding.",
    "Managed": "A group or site with its guest template and policy.",
    "ManagedGroup": (
        "A group with its guest template and policy. `request_id` is None if the service did not create it."
    ),
    "ManagedSite": "A site with its guest template and policy. Its `id` is that of its security group.",
    "Confirmers": "Users who confirm guests.",
    "NewPolicy": "A guest policy to create, or to replace one. A rule that is UNSET or None does not apply.",
    "SimulatedPolicy": "The simulation of a guest policy. `items` are the earliest events, all of them if `is_whole`.",
    "Treatment": "The treatment of a property that differs: repaired, reported, or not compared.",
    "TenantSettings": "Settings of a tenant. The SDK does not send UNSET.",
    "AdoptionFilter": (
        "A filter of the objects to adopt. All values that are not None have to match. `q` is a prefix of the name, "
        "display name or address; `ids` are those of the directory."
    ),
    "Adoption": (
        "A confirmed adoption. `refused` has the first hundred objects that could not be adopted; lists omit them."
    ),
    "Release": (
        "A release of managed objects. `remarks` has the first hundred objects that were skipped, or need a remark; "
        "lists omit them."
    ),
    "AuditRow": (
        "One action on the audit trail. `before` and `after` have only the changed properties. `client_address` is "
        "None for a change that did not come over HTTP. `seal` is None until the row is sealed. `erased` says that "
        "the payload was erased."
    ),
}
