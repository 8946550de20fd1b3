"""Whom tokens are believed from, wired."""

from dataclasses import dataclass

from chamberlain.app.clock_and_ids import local_now
from chamberlain.app.databases import Databases
from chamberlain.app.directory_graph import GRAPH_AUDIENCE
from chamberlain.app.identity import believed_base_url, issuer_finder
from chamberlain.auth.issuers import IssuerKeys
from chamberlain.auth.permissions import ScopePrefixes
from chamberlain.auth.verifier import FindIssuer, Verifier
from chamberlain.settings import Settings


@dataclass(frozen=True, slots=True)
class Trust:
    """Whom tokens are believed from, and what the permissions in them are called."""

    find_issuer: FindIssuer
    keys: IssuerKeys
    prefixes: ScopePrefixes

    def verifier(self, audiences: frozenset[str]) -> Verifier:
        """Proves tokens for these audiences."""
        return Verifier(audiences, self.find_issuer, self.keys, local_now)


def make_trust(settings: Settings, databases: Databases, authority_pem: str | None) -> Trust:
    """Trust in the issuers of all tenants. The authority is that of our own certificate, for the embedded platform if
    it runs."""
    return Trust(
        find_issuer=issuer_finder(databases.application, believed_base_url(settings)),
        keys=IssuerKeys(local_now, authority_pem=authority_pem),
        prefixes=ScopePrefixes(settings.scope_prefix, settings.insiders_scope_prefix, GRAPH_AUDIENCE),
    )
