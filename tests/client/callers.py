# SPDX-License-Identifier: Apache-2.0
"""Clients of a running service, by user and scope."""

from dataclasses import dataclass

from chamberlain_client import AsyncChamberlain, Chamberlain
from tests.services import ADA_MAIL, API, GRAPH, TLS, Service


@dataclass(frozen=True, slots=True)
class Callers:
    """Creates clients of one service."""

    service: Service

    def client(self, who: str = ADA_MAIL, scope: str = "collab/App.ReadWrite.All") -> Chamberlain:
        return Chamberlain(self.service.url, self._token(who, scope), graph_token=lambda: self._graph(who), verify=TLS)

    def async_client(self, who: str = ADA_MAIL, scope: str = "collab/App.ReadWrite.All") -> AsyncChamberlain:
        return AsyncChamberlain(
            self.service.url, self._token(who, scope), graph_token=lambda: self._graph(who), verify=TLS
        )

    def _token(self, who: str, scope: str) -> str:
        return self.service.token(who, f"{API}/{scope}")

    def _graph(self, who: str) -> str:
        return self.service.token(who, f"{GRAPH}/Group.Read.All")
