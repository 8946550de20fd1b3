# SPDX-License-Identifier: Apache-2.0
"""Types of identifiers."""

import re
from typing import NewType
from uuid import UUID

TenantId = NewType("TenantId", UUID)
UserId = NewType("UserId", UUID)
GroupId = NewType("GroupId", UUID)
MailboxId = NewType("MailboxId", UUID)
TemplateId = NewType("TemplateId", UUID)
PolicyId = NewType("PolicyId", UUID)
RequestId = NewType("RequestId", UUID)
JobId = NewType("JobId", int)
EventId = NewType("EventId", UUID)
NoticeId = NewType("NoticeId", UUID)
DeliveryId = NewType("DeliveryId", UUID)
AdoptionId = NewType("AdoptionId", UUID)
ReleaseId = NewType("ReleaseId", UUID)
ConnectionId = NewType("ConnectionId", UUID)

# Client ids of the identity platform. Most are UUIDs; the standard requires a string only (RFC 6749, 2.2).
ClientId = NewType("ClientId", str)
# One per call: 32 hexadecimal digits, the trace id of W3C Trace Context.
TraceId = NewType("TraceId", str)

# The hyphenated form of a UUID in either letter case. The UUID class accepts other forms as well.
WRITTEN_ID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
