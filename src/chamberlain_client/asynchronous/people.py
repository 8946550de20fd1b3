# SPDX-License-Identifier: Apache-2.0
"""People of the directory."""

from chamberlain_client import operations
from chamberlain_client.asynchronous.transport import AsyncPages, AsyncResource
from chamberlain_client.models import FoundPerson


class AsyncPeople(AsyncResource):
    """People of the tenant's directory, read only."""

    def find(self, text: str) -> AsyncPages[FoundPerson]:
        """Find the first ten people by the beginnings of their names.

        A word of the text needs two letters. Raises LimitReached after 30 searches in a minute.
        """
        return self._list(FoundPerson, operations.FIND_PEOPLE, q=text)
