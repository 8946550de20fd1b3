"""Doing something with a request, or with a finding of which one may know nothing else."""

from chamberlain.cli.calls_call import Area, Call
from chamberlain.cli.listing import show
from chamberlain_client.operations import Operation


def act(call: Call, operation: Operation, request_id: str, comment: str | None, key: str | None) -> None:
    """Do it, and show the thing as it is then."""
    body = {} if comment is None else {"comment": comment}
    with call.service(Area.REQUESTS) as service:
        show(call, service.post(operation, request_id, body=body, key=key))
