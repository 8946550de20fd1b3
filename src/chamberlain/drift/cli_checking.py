"""A check for drift, asked for over HTTP."""

from chamberlain.cli.calls_call import Area, Call
from chamberlain.cli.listing import show
from chamberlain_client import operations


def check(call: Call, comment: str | None, key: str | None) -> None:
    """Ask for one, and show when those before it began and ended."""
    body = {} if comment is None else {"comment": comment}
    with call.service(Area.ADMIN) as service:
        show(call, service.post(operations.CHECK_DRIFT, body=body, key=key))
