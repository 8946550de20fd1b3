"""Deliveries over HTTP."""

from datetime import datetime

from chamberlain.cli.calls_call import Area, Call
from chamberlain.cli.calls_service import Service
from chamberlain.cli.listing import show, show_list
from chamberlain.cli.names import id_of_name
from chamberlain.cli.output import Column, written_time
from chamberlain.template_admin.cli_template_files import COLLAB, MAIL
from chamberlain_client import operations


def list_deliveries(call: Call, state: str | None, template: str | None, request: str | None, most: int | None) -> None:
    """Show what webhooks were told."""
    columns = (
        Column("ID", "id"),
        Column("STATE", "state"),
        Column("TYPE", "type"),
        Column("REQUEST", "requestId"),
        Column("ADDRESS", "url"),
        Column("AT", "createdAt"),
    )
    with call.service(Area.ADMIN) as service:
        filters = {"state": state, "templateId": _template(service, template), "requestId": request}
    show_list(call, Area.ADMIN, operations.LIST_DELIVERIES, filters=filters, columns=columns, most=most)


def redeliver_one(call: Call, delivery_id: str, key: str | None) -> None:
    """Tell one again, and show it."""
    with call.service(Area.ADMIN) as service:
        show(call, service.post(operations.REDELIVER_DELIVERY, delivery_id, body={}, key=key))


def redeliver_span(call: Call, since: datetime, until: datetime, template: str | None, key: str | None) -> None:
    """Tell all of a span of time again, and show how many they are."""
    with call.service(Area.ADMIN) as service:
        body: dict[str, object] = {"from": written_time(since), "to": written_time(until)}
        if template is not None:
            body["templateId"] = _template(service, template)
        show(call, service.post(operations.REDELIVER_SPAN, body=body, key=key))


def _template(service: Service, written: str | None) -> str | None:
    return written and id_of_name(service, written, (MAIL.list, COLLAB.list), "template")
