"""The keys of issuers, found by discovery (OpenID Connect Discovery 1.0, 4) and kept for a while."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from chamberlain.auth.issuers_discovery import (
    TIMEOUT_SECONDS,
    UNANSWERED,
    Key,
    UnusableAnswer,
    ask_issuer,
    issuers_client,
)
from chamberlain.core.errors import Unavailable

# A stranger can make up key ids; an issuer must not be asked for each of them.
_BETWEEN_REFRESHES = timedelta(seconds=30)
# As long as an issuer never answered there is nothing to lose by asking again soon.
_BETWEEN_FIRST_ATTEMPTS = timedelta(seconds=1)
# A key that the issuer took back is trusted no longer than this, and, when the issuer cannot be reached, than a day.
_REFRESH_AFTER = timedelta(hours=1)
_FORGET_AFTER = timedelta(hours=24)

_log = structlog.get_logger()


class IssuerKeys:
    """Finds an issuer's key by its id; asks the issuer seldom, and never twice at the same time.

    `authority_pem` is trusted beside the authorities of the system. Proxies of the environment are not used. An issuer
    has `timeout_seconds` for both of its documents.
    """

    def __init__(
        self,
        now: Callable[[], datetime],
        *,
        authority_pem: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self._now = now
        self._timeout_seconds = timeout_seconds
        self._client = issuers_client(authority_pem)
        self._held: dict[str, _Held] = {}

    async def find(self, issuer: str, kid: str, algorithm: str) -> Key | None:
        """The key, or None when the issuer has none such for the algorithm; Unavailable when it cannot be asked."""
        held = self._held.setdefault(issuer, _Held())
        now = self._now()
        held.forget_if_too_old(now)
        key = held.keys.get((kid, algorithm))
        if key is None:
            await self._refreshed(issuer, held, now)
            key = held.keys.get((kid, algorithm))
            if key is None and held.failed:
                raise Unavailable(
                    "issuerUnavailable",
                    "The issuer of the token cannot be asked for its keys at present. Send the request again later.",
                )
        elif held.is_old(now):
            self._refresh(issuer, held, now)
        return key

    async def close(self) -> None:
        """End what is under way and close the connections."""
        fetches = [held.fetch for held in self._held.values() if held.fetch is not None]
        for fetch in fetches:
            fetch.cancel()
        await asyncio.gather(*fetches, return_exceptions=True)
        await self._client.aclose()

    async def _refreshed(self, issuer: str, held: "_Held", now: datetime) -> None:
        fetch = self._refresh(issuer, held, now)
        if fetch is not None:
            # Who stops waiting must not take the answer from the others.
            await asyncio.shield(fetch)

    def _refresh(self, issuer: str, held: "_Held", now: datetime) -> asyncio.Task[None] | None:
        if held.fetch is None and held.may_ask(now):
            held.asked_at = now
            held.fetch = asyncio.create_task(self._ask(issuer, held, now))
        return held.fetch

    async def _ask(self, issuer: str, held: "_Held", now: datetime) -> None:
        try:
            async with asyncio.timeout(self._timeout_seconds):
                held.keys = (await ask_issuer(self._client, issuer)).keys
            held.answered_at = now
            held.failed = False
        except (*UNANSWERED, UnusableAnswer) as error:
            held.failed = True
            _log.warning("issuer keys not fetched", issuer=issuer, reason=str(error) or type(error).__name__)
        finally:
            held.fetch = None


@dataclass(slots=True)
class _Held:
    """What is known of one issuer."""

    keys: Mapping[tuple[str, str], Key] = field(default_factory=dict)
    asked_at: datetime | None = None
    answered_at: datetime | None = None
    failed: bool = False
    fetch: asyncio.Task[None] | None = None

    def may_ask(self, now: datetime) -> bool:
        pause = _BETWEEN_FIRST_ATTEMPTS if self.answered_at is None else _BETWEEN_REFRESHES
        return self.asked_at is None or now - self.asked_at >= pause

    def is_old(self, now: datetime) -> bool:
        return self.answered_at is not None and now - self.answered_at >= _REFRESH_AFTER

    def forget_if_too_old(self, now: datetime) -> None:
        if self.answered_at is not None and now - self.answered_at >= _FORGET_AFTER:
            self.keys = {}
