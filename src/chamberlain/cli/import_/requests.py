# SPDX-License-Identifier: Apache-2.0
"""Check the requests of accepted rows."""

from dataclasses import replace

from chamberlain.cli.import_.dispatch import Busy, Later
from chamberlain.cli.import_.results import Outcome, RowResult
from chamberlain.cli.import_.sender import busy_or_raise
from chamberlain_client import errors
from chamberlain_client.asynchronous.requests import AsyncRequests
from chamberlain_client.asynchronous.transport import AsyncTransport
from chamberlain_client.models import RequestState

# Seconds between two looks.
_PAUSE = 1.0


async def look_at_request(transport: AsyncTransport, result: RowResult) -> RowResult | Later | Busy:
    """Read the state of a row's request; Later until it has ended."""
    try:
        request = await AsyncRequests(transport).get(str(result.request_id))
    except errors.NotFound as error:
        return replace(result, outcome=Outcome.FAILED, code=error.code, detail="Its request is not there any more.")
    except errors.ChamberlainError as error:
        return busy_or_raise(error)
    if not request.has_ended:
        return Later(_PAUSE)
    if request.state == RequestState.SUCCEEDED:
        made = request.result
        address, id_ = (result.address, result.object_id) if made is None else (made.mail, str(made.id))
        return replace(result, outcome=Outcome.ACTIVE, address=address, object_id=id_, detail=None)
    code = None if request.error is None else request.error.code
    detail = f"Its request is {request.state}." if request.error is None else request.error.detail
    return replace(result, outcome=Outcome.FAILED, code=code, detail=detail)
