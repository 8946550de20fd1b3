# SPDX-License-Identifier: Apache-2.0
"""The caller of the token."""

from chamberlain_client import operations
from chamberlain_client.asynchronous.transport import AsyncResource
from chamberlain_client.models import Me


class AsyncCaller(AsyncResource):
    """The user or the application of the token."""

    async def get(self) -> Me:
        """Read name, tenant, language and number of open decisions."""
        return await self._get(Me, operations.READ_ME)
