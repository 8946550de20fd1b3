# SPDX-License-Identifier: Apache-2.0
"""The words for mailboxes that the API and rows have."""

import pytest

from chamberlain.directory.mailboxes import MailboxType, PermissionLevel, TemplateSource
from chamberlain.mailboxes.models import ProvisioningState

pytestmark = pytest.mark.pure


def test_the_api_shows_these_words() -> None:
    assert [str(each) for each in MailboxType] == ["shared", "equipment", "room"]
    assert [str(each) for each in PermissionLevel] == ["None", "SendAs", "FullAccess"]
    assert [str(each) for each in TemplateSource] == ["request", "default"]
    assert [str(each) for each in ProvisioningState] == [
        "pendingApproval",
        "queued",
        "provisioning",
        "active",
        "failed",
        "rejected",
        "cancelled",
        "expired",
    ]
