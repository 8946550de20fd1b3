"""All commands. Each imports its code when it runs, for speed."""

import gc
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperGroup
from typer.main import get_group

from chamberlain.cli.options import DataDir, calls, settings_of

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from typer._click import Command

    from chamberlain.cli.calls import Call

app = typer.Typer(
    name="chamberlain",
    help="Provision mailboxes, groups and teams from templates, and assign guest rules.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

# Command groups by the attribute of their table: name, module and help.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "mailboxes": ("mailbox", "chamberlain.mailboxes.cli", "Request and show mailboxes."),
    "groups": ("group", "chamberlain.guests.cli", "Request and show groups, and assign guest rules."),
    "teams": ("team", "chamberlain.groups.cli", "Request teams. A team is a group: `group` shows it."),
    "sites": ("site", "chamberlain.guests.cli", "Show managed sites, and assign guest rules."),
    "requests": ("request", "chamberlain.requests.cli", "List, follow, approve, cancel and retry requests."),
    "templates": ("template", "chamberlain.template_admin.cli", "Show, create, replace and delete templates."),
    "policies": (
        "policy",
        "chamberlain.guests.policies.cli",
        "Show, create, replace and delete guest policies. For administrators.",
    ),
    "findings": ("finding", "chamberlain.guests.findings.cli", "List, accept and confirm findings."),
    "drift": ("drift", "chamberlain.drift.cli", "Check for changes that others made in the directory."),
    "adoptions": (
        "adoption",
        "chamberlain.adoptions.cli",
        "Take existing mailboxes and groups under management. For administrators.",
    ),
    "deliveries": (
        "delivery",
        "chamberlain.webhooks.cli",
        "List deliveries of webhooks, and send them again. For administrators.",
    ),
    "webhooks": ("webhook", "chamberlain.webhooks.cli", "Test webhooks, and rotate their secrets. For administrators."),
    "tenants": ("tenant", "chamberlain.app.commands.tenants", "List, suspend, resume, export and delete tenants."),
    "audit": ("audit", "chamberlain.app.commands.audit", "List and verify the audit trail."),
    "jobs": ("jobs", "chamberlain.app.commands.jobs", "List and release held jobs."),
    "keys": ("keys", "chamberlain.app.commands.keys", "List, add, rotate and drop encryption keys."),
    "retention": ("retention", "chamberlain.app.commands.retention", "Resume retention after a clock fault."),
}

Port = Annotated[int | None, typer.Option(help="Port of the HTTP listener; HTTPS uses the next port. Default 8365.")]
Host = Annotated[str | None, typer.Option(help="Address to listen on. Default 127.0.0.1.")]

Files = Annotated[
    list[Path], typer.Argument(metavar="FILES", help="Configuration files. Together they are one configuration.")
]


def group_of(attribute: str) -> typer.Typer:
    """Return a command group that is imported on first use."""
    name, module, help_text = COMMANDS[attribute]

    class LazyGroup(TyperGroup):
        _loaded: "MutableMapping[str, Command] | None" = None

        @property
        def commands(self) -> "MutableMapping[str, Command]":
            if self._loaded is None:
                self._loaded = get_group(getattr(import_module(module), attribute)).commands
            return self._loaded

        @commands.setter
        def commands(self, _: "MutableMapping[str, Command]") -> None:
            """Ignore the empty table that the framework sets."""

    return typer.Typer(name=name, help=help_text, cls=LazyGroup, no_args_is_help=True)


def main() -> None:
    """Run the command line."""
    app()


@app.command()
def serve(
    host: Host = None,
    port: Port = None,
    data_dir: DataDir = None,
    *,
    worker: Annotated[bool, typer.Option(help="Also run a worker in this process.")] = True,
) -> None:
    """Run the API and a worker."""
    _disable_collector()
    from chamberlain.app.serve import run_serve

    run_serve(settings_of(host=host, port=port, data_dir=data_dir), with_worker=worker)


@app.command()
def worker(data_dir: DataDir = None) -> None:
    """Run a worker on an external database, without the API."""
    _disable_collector()
    from chamberlain.app.serve import run_worker

    run_worker(settings_of(data_dir=data_dir))


@app.command()
def migrate(
    data_dir: DataDir = None,
    *,
    show: Annotated[bool, typer.Option("--print", help="Print the SQL, including roles, and change nothing.")] = False,
    example: Annotated[bool, typer.Option("--example", help="Load the sample data if there is no tenant.")] = False,
    before: Annotated[
        bool, typer.Option("--before", help="Run only the migrations that must precede new processes.")
    ] = False,
) -> None:
    """Migrate an external database, as its owner (CHAMBERLAIN_DATABASE_OWNER_URL)."""
    from chamberlain.app.maintenance import print_migrations, run_migrations, run_migrations_before

    if (show, example, before).count(True) > 1:
        raise typer.BadParameter("Use only one of --print, --example and --before.")
    if show:
        print_migrations()
    elif before:
        run_migrations_before(settings_of(data_dir=data_dir))
    else:
        run_migrations(settings_of(data_dir=data_dir), example=example)


@app.command()
def token(
    scope: Annotated[list[str], typer.Option(help="Scope of the token; repeatable.")],
    user: Annotated[str | None, typer.Option(help="Mail address of the user.")] = None,
    client: Annotated[str | None, typer.Option(help="Name or id of the application.")] = None,
    port: Port = None,
    data_dir: DataDir = None,
) -> None:
    """Print an access token of the embedded identity platform, for local scripts."""
    from chamberlain.cli.login import print_token

    print_token(settings_of(port=port, data_dir=data_dir), user=user, client=client, scopes=scope)


@app.command()
@calls
def login(
    call: "Call",
    *,
    issuer: Annotated[
        str | None, typer.Option(metavar="URL", help="Identity platform. Default: the embedded one.")
    ] = None,
    tenant: Annotated[str | None, typer.Option(metavar="ID", help="Tenant, at the embedded identity platform.")] = None,
    client_id: Annotated[
        str | None, typer.Option(metavar="ID", help="Client id of this program at the issuer.")
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Scopes of one resource; repeatable."),
    ] = None,
    browser: Annotated[bool, typer.Option("--browser", help="Use a browser on this machine, without a code.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Sign in even if you are signed in already.")] = False,
) -> None:
    """Sign in with a code that you enter in any browser.

    The sign-in is saved.
    """
    from chamberlain.cli.login import Wanted, login

    wanted = Wanted(issuer, tenant, client_id, tuple(scope or ()))
    login(call, wanted, with_browser=browser, again=again)


@app.command()
@calls
def logout(call: "Call") -> None:
    """Sign out, and delete the saved sign-in."""
    from chamberlain.cli.login import logout

    logout(call)


@app.command()
@calls
def whoami(call: "Call") -> None:
    """Show the saved sign-in: user, server, expiry and scopes."""
    from chamberlain.cli.login import whoami

    whoami(call)


for noun in list(COMMANDS)[:12]:
    app.add_typer(group_of(noun))


@app.command()
def plan(files: Files, data_dir: DataDir = None) -> None:
    """Show the changes that configuration files would make.

    Exits 0 without changes, 2 with changes, 1 on errors.
    """
    from chamberlain.app.commands.configuration import show_plan

    show_plan(settings_of(data_dir=data_dir), files)


@app.command()
def apply(
    files: Files,
    data_dir: DataDir = None,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before something is removed.")] = False,
) -> None:
    """Apply configuration files to tenants, templates and policies, all or nothing."""
    from chamberlain.app.commands.configuration import apply_files

    apply_files(settings_of(data_dir=data_dir), files, yes=yes)


@app.command()
def export(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="File to write. Default: standard output.")
    ] = None,
    tenant: Annotated[str | None, typer.Option(help="Export only this tenant, by id.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Write the current tenants, templates and policies as a configuration file."""
    from chamberlain.app.commands.configuration import export_files
    from chamberlain.app.commands.tenants import tenant_id_of

    export_files(settings_of(data_dir=data_dir), None if tenant is None else tenant_id_of(tenant), file)


app.add_typer(group_of("tenants"))
app.add_typer(group_of("audit"))


@app.command()
def erase(
    user: Annotated[str, typer.Option(help="Id of the user.")],
    tenant: Annotated[str | None, typer.Option(help="Only in this tenant, by id.")] = None,
    data_dir: DataDir = None,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
) -> None:
    """Erase a user from names, bodies of requests and the audit trail."""
    from chamberlain.app.commands.audit import erase as erase_user
    from chamberlain.app.commands.tenants import tenant_id_of

    erase_user(settings_of(data_dir=data_dir), user, None if tenant is None else tenant_id_of(tenant), yes=yes)


@app.command()
def doctor(
    host: Host = None,
    port: Port = None,
    data_dir: DataDir = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Check database, migrations, keys, issuers, clocks, directory, webhooks and settings.

    Exits 1 if there is a fault.
    """
    from chamberlain.app.doctor.cli import examine_installation

    examine_installation(settings_of(host=host, port=port, data_dir=data_dir), as_json=as_json)


@app.command()
def routes() -> None:
    """Print all endpoints of the API: method, path, permitted operation and handler."""
    from chamberlain.app.routes import ENDPOINTS
    from chamberlain.cli.output import Column, show_table

    names = ("METHOD", "PATH", "OPERATION", "HANDLER")
    records = (
        {
            "METHOD": each.method,
            "PATH": each.path,
            "OPERATION": each.operation.name.lower() if each.operation else "-",
            "HANDLER": f"{each.handler.__module__}.{each.handler.__name__}",
        }
        for each in ENDPOINTS
    )
    show_table([Column(name, name) for name in names], records)


app.add_typer(group_of("jobs"))


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write. It must not exist.")],
    data_dir: DataDir = None,
) -> None:
    """Back up the embedded database while the service runs.

    The keys are not included.
    """
    from chamberlain.app.backup import take

    take(settings_of(data_dir=data_dir), file)


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup file.")],
    data_dir: DataDir = None,
) -> None:
    """Restore a backup into a data folder without a database."""
    from chamberlain.app.backup import restore as restore_backup

    restore_backup(settings_of(data_dir=data_dir), file)


app.add_typer(group_of("keys"))
app.add_typer(group_of("retention"))


def _disable_collector() -> None:
    """Disable garbage collection during the start, which takes an eighth of it.

    The process enables it later.
    """
    gc.disable()
