"""Tokens: a string, or what gives one whenever a call is made."""

import re
from collections.abc import Awaitable, Callable
from inspect import isawaitable

from chamberlain_client.errors import TokenUnusable

TokenSource = str | Callable[[], str]
AsyncTokenSource = str | Callable[[], str | Awaitable[str]]

# RFC 6750, 2.1. What is not of it must not get into a header, whose faults are told with what is in it.
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")


def token_of(source: TokenSource) -> str:
    """The token to be sent now. Raises TokenUnusable, and whatever the source raises."""
    return _checked(source() if callable(source) else source)


async def async_token_of(source: AsyncTokenSource) -> str:
    """The same of a source that may have to be awaited."""
    given = source() if callable(source) else source
    return _checked(await given if isawaitable(given) else given)


def _checked(token: object) -> str:
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise TokenUnusable
    return token
