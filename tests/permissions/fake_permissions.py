# SPDX-License-Identifier: Apache-2.0
"""An empty report of permissions, for tests of the API."""

from chamberlain.auth.models import Caller
from chamberlain.permissions.models import PermissionReport
from chamberlain.permissions.service import PermissionService


class FakePermissions(PermissionService):
    """A tenant without callers."""

    def __init__(self) -> None:
        """Need no database."""

    async def report(self, caller: Caller) -> PermissionReport:
        assert caller.user_id is not None
        return PermissionReport((), is_truncated=False, directory=())
