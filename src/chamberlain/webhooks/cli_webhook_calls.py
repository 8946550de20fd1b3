"""Webhooks of templates over HTTP."""

import typer

from chamberlain.cli.calls_call import Area, Call
from chamberlain.cli.errors_exit_codes import ExitCode
from chamberlain.cli.listing import show
from chamberlain.cli.output import say
from chamberlain.template_admin.cli_template_files import find_template


def try_webhook(call: Call, template: str, key: str | None) -> None:
    """Call it once, and show the attempt."""
    with call.service(Area.ADMIN) as service:
        shelf, found = find_template(service, template)
        attempt = service.post(shelf.test_webhook, str(found["id"]), body={}, key=key)
    show(call, attempt)
    status = attempt.get("status")
    if not isinstance(status, int) or not 200 <= status < 300:
        say("The webhook did not take it.")
        raise typer.Exit(ExitCode.FAILED)


def rotate_webhook(call: Call, template: str, key: str | None) -> None:
    """Give it a new secret, and show that."""
    with call.service(Area.ADMIN) as service:
        shelf, found = find_template(service, template)
        show(call, service.post(shelf.rotate_webhook, str(found["id"]), body={}, key=key))
    say("The secret is shown this once. The one before it is good for another 24 hours.")
