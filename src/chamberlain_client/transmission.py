"""What may go wrong on the way, in the words of this SDK."""

from collections.abc import Generator
from contextlib import contextmanager
from ssl import SSLCertVerificationError

import httpx2

from chamberlain_client.errors import NotTrusted, TimedOut, Unreachable


@contextmanager
def told() -> Generator[None, None, None]:
    """Whatever the library for HTTP raises inside comes out as an error of ours."""
    try:
        yield
    except (httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
        raise TimedOut(f"No connection could be made in time to {_where(error)}.", was_sent=False) from error
    except httpx2.TimeoutException as error:
        raise TimedOut(f"{_where(error)} did not answer in time.", was_sent=True) from error
    except (httpx2.ConnectError, httpx2.UnsupportedProtocol, httpx2.ProxyError) as error:
        if _is_about_trust(error):
            raise NotTrusted(f"The certificate of {_where(error)} is not trusted: {error}.", was_sent=False) from error
        raise Unreachable(f"No connection could be made to {_where(error)}: {error}.", was_sent=False) from error
    except (httpx2.TransportError, httpx2.DecodingError) as error:
        why = str(error).rstrip(".") or type(error).__name__
        raise Unreachable(
            f"The connection to {_where(error)} ended before its answer: {why}.", was_sent=True
        ) from error


def _where(error: httpx2.RequestError) -> str:
    url = error.request.url
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def _is_about_trust(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error is not None
