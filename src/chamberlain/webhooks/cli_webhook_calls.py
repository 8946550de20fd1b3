"""Webhooks of templates over HTTP."""

from chamberlain.cli.calls_call import Area, Call
from chamberlain.cli.listing import show
from chamberlain.cli.output import say
from chamberlain.template_admin.cli_template_files import find_template


def rotate_webhook(call: Call, template: str, key: str | None) -> None:
    """Give it a new secret, and show that."""
    with call.service(Area.ADMIN) as service:
        shelf, found = find_template(service, template)
        show(call, service.post(shelf.rotate_webhook, str(found["id"]), body={}, key=key))
    say("The secret is shown this once. The one before it is good for another 24 hours.")
