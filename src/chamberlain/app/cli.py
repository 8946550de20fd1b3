# SPDX-License-Identifier: Apache-2.0
"""All commands. Each imports its code when it runs, for speed."""

import gc
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer.main import get_group

from chamberlain.cli.help import CommandTable, HelpfulGroup, ProgramGroup, show_versions
from chamberlain.cli.options import DataDir, DryRun, Key, Yes, calls, prints, settings_of

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from typer._click import Command

    from chamberlain.cli.calls import Call
    from chamberlain.cli.formats import Output


# Commands by reader.
SECTIONS: dict[str, tuple[str, ...]] = {
    "Requests and approvals": ("request", "approval", "substitute"),
    "Groups, mailboxes and templates": ("group", "team", "mailbox", "template"),
    "Guests": ("site", "assignment", "policy", "finding"),
    "Administration": (
        "people",
        "drift",
        "adoption",
        "connection",
        "webhook",
        "delivery",
        "event",
        "figures",
        "permissions",
        "release",
        "audit",
    ),
    "Operation of the server": (
        "serve",
        "worker",
        "migrate",
        "plan",
        "apply",
        "export",
        "tenant",
        "erase",
        "jobs",
        "keys",
        "retention",
        "backup",
        "restore",
        "doctor",
        "routes",
        "demo",
    ),
    "This program": ("login", "logout", "whoami", "me", "context", "token", "help", "completion", "man"),
}

_FIRST_STEPS = """\
Provision mailboxes, groups and teams from templates, and assign guest rules.

Usage: chamberlain [OPTIONS] COMMAND [ARGS]...

First steps:
  chamberlain serve          Run the service on this machine, with sample data.
  chamberlain login          Sign in.
  chamberlain template list  List the templates that you may use.
  chamberlain group create --template "Project group" --display-name Orchard
                             Request a group.
  chamberlain request list   List your requests.

All commands: chamberlain help
A command:    chamberlain help group create

Documentation: docs/how-to/command-line.md"""


class Program(ProgramGroup):
    """The program."""

    sections = SECTIONS
    first_steps = _FIRST_STEPS


app = CommandTable(
    name="chamberlain",
    help="Provision mailboxes, groups and teams from templates, and assign guest rules.",
    cls=Program,
    context_settings={"help_option_names": ["--help", "-h"]},
    pretty_exceptions_enable=False,
)

# Command groups by the attribute of their table: name, module and help.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "contexts": ("context", "chamberlain.cli.contexts", "Save services by name, and choose one."),
    "mailboxes": ("mailbox", "chamberlain.mailboxes.cli", "Request and show mailboxes."),
    "groups": ("group", "chamberlain.guests.cli", "Request and show groups, and assign guest rules."),
    "teams": ("team", "chamberlain.groups.cli", "Request teams. A team is a group: `group` shows it."),
    "assignments": ("assignment", "chamberlain.guests.cli", "Assign guest rules to many groups and sites."),
    "sites": ("site", "chamberlain.guests.cli", "Show managed sites, and assign guest rules."),
    "requests": ("request", "chamberlain.requests.cli", "List, follow, approve, cancel and retry requests."),
    "approvals": ("approval", "chamberlain.requests.cli", "Decide by replies to approval mails."),
    "substitutes": (
        "substitute",
        "chamberlain.substitutes.cli",
        "Name the user who decides on requests for you.",
    ),
    "templates": ("template", "chamberlain.template_admin.cli", "Show, create, replace and delete templates."),
    "policies": (
        "policy",
        "chamberlain.guests.policies.cli",
        "Show, create, replace and delete guest policies.",
    ),
    "findings": ("finding", "chamberlain.guests.findings.cli", "List, accept, ignore, repair and confirm findings."),
    "people": ("people", "chamberlain.people.cli", "Find people, and provision those of the embedded directory."),
    "drift": ("drift", "chamberlain.drift.cli", "Check for changes that others made in the directory."),
    "adoptions": (
        "adoption",
        "chamberlain.adoptions.cli",
        "Take existing mailboxes and groups under management.",
    ),
    "connections": (
        "connection",
        "chamberlain.connections.cli",
        "Connect the tenant to its directory, and check the connection.",
    ),
    "deliveries": (
        "delivery",
        "chamberlain.webhooks.cli",
        "List deliveries of webhooks, and send them again.",
    ),
    "webhooks": ("webhook", "chamberlain.webhooks.cli", "Test webhooks, and rotate their secrets."),
    "events": ("event", "chamberlain.events.cli", "List and follow events."),
    "tenants": ("tenant", "chamberlain.app.commands.tables", "List, suspend, resume, export and delete tenants."),
    "audit": ("audit", "chamberlain.app.commands.tables", "List and verify the audit trail."),
    "jobs": ("jobs", "chamberlain.app.commands.tables", "List and release held jobs."),
    "keys": ("keys", "chamberlain.app.commands.tables", "List, add, rotate and drop encryption keys."),
    "retention": ("retention", "chamberlain.app.commands.tables", "Resume retention after a clock fault."),
}

Port = Annotated[int | None, typer.Option(help="Port of the HTTP listener; HTTPS uses the next port. Default 8365.")]
Host = Annotated[str | None, typer.Option(help="Address to listen on. Default 127.0.0.1.")]

Files = Annotated[
    list[Path], typer.Argument(metavar="FILES", help="Configuration files. Together they are one configuration.")
]


def group_of(attribute: str) -> typer.Typer:
    """Return a command group that is imported on first use."""
    name, module, help_text = COMMANDS[attribute]

    class LazyGroup(HelpfulGroup):
        _loaded: "MutableMapping[str, Command] | None" = None

        @property
        def commands(self) -> "MutableMapping[str, Command]":
            if self._loaded is None:
                self._loaded = get_group(getattr(import_module(module), attribute)).commands
            return self._loaded

        @commands.setter
        def commands(self, _: "MutableMapping[str, Command]") -> None:
            """Ignore the empty table that the framework sets."""

    return CommandTable(name=name, help=help_text, cls=LazyGroup)


def main() -> None:
    """Run the command line."""
    app()


@app.callback()
def program(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=show_versions, is_eager=True, help="Print the versions, and exit."),
    ] = False,
) -> None:
    """Provision mailboxes, groups and teams from templates, and assign guest rules."""


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


@app.command()
@calls
def me(call: "Call") -> None:
    """Show how the service knows you: name, tenant, language, open decisions."""
    from chamberlain.me.cli import show_me

    show_me(call)


for noun in list(COMMANDS)[: list(COMMANDS).index("tenants")]:
    app.add_typer(group_of(noun))


Remote = Annotated[
    str | None,
    typer.Option("--server", metavar="URL", help="Address of a remote service. Default: the database of this machine."),
]
Certificates = Annotated[
    Path | None, typer.Option(metavar="FILE", help="With --server: additional CA certificates to trust.")
]
AsJson = Annotated[bool, typer.Option("--json", help="With --server: print only JSON on standard output.")]


@app.command()
def plan(
    files: Files, server: Remote = None, ca: Certificates = None, data_dir: DataDir = None, *, as_json: AsJson = False
) -> None:
    """Show the changes that configuration files would make.

    Exits 0 without changes, 2 with changes, 1 on errors.
    """
    if server is not None:
        from chamberlain.configuration.cli import show_remote_plan

        show_remote_plan(files, server=server, ca=ca, data_dir=data_dir, as_json=as_json)
        return
    from chamberlain.app.commands.configuration import show_plan

    _require_local(ca, as_json=as_json)
    show_plan(settings_of(data_dir=data_dir), files)


@app.command()
def apply(
    files: Files,
    server: Remote = None,
    ca: Certificates = None,
    data_dir: DataDir = None,
    *,
    as_json: AsJson = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before something is removed.")] = False,
) -> None:
    """Apply configuration files to tenants, templates, policies and assignments, all or nothing."""
    if server is not None:
        from chamberlain.configuration.cli import apply_remotely

        apply_remotely(files, server=server, ca=ca, data_dir=data_dir, as_json=as_json, yes=yes)
        return
    from chamberlain.app.commands.configuration import apply_files

    _require_local(ca, as_json=as_json)
    apply_files(settings_of(data_dir=data_dir), files, yes=yes)


@app.command()
def export(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="File to write. Default: standard output.")
    ] = None,
    tenant: Annotated[str | None, typer.Option(help="Export only this tenant, by name or id.")] = None,
    data_dir: DataDir = None,
    *,
    without_assignments: Annotated[
        bool, typer.Option("--without-assignments", help="Leave out the assignments.")
    ] = False,
) -> None:
    """Write the current tenants, templates, policies and assignments as a configuration file."""
    from chamberlain.app.commands.configuration import export_files
    from chamberlain.app.commands.tenants import tenant_id_of

    settings = settings_of(data_dir=data_dir)
    tenant_id = None if tenant is None else tenant_id_of(settings, tenant, option="--tenant")
    export_files(settings, tenant_id, file, with_assignments=not without_assignments)


@app.command()
@calls
def figures(
    call: "Call",
    *,
    first: Annotated[str | None, typer.Option("--from", metavar="DAY", help="First day, such as 2026-11-01.")] = None,
    last: Annotated[str | None, typer.Option("--to", metavar="DAY", help="Last day. Default: today.")] = None,
) -> None:
    """Show requests by day, time to ready, and the backlog.

    For administrators.
    """
    from chamberlain.figures.cli import show_figures

    show_figures(call, first=first, last=last)


@app.command()
@calls
def permissions(call: "Call") -> None:
    """Show which permissions callers hold and use, and those of the directory.

    For administrators.
    """
    from chamberlain.permissions.cli import show_permissions

    show_permissions(call)


@app.command("release")
@calls
def release_objects(
    call: "Call",
    *,
    type_: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="TYPE", help="mailbox, group, team or assignment; repeatable. Default: all."),
    ] = None,
    comment: Annotated[str | None, typer.Option(help="Comment for the audit trail.")] = None,
    dry_run: DryRun = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the release ends, and show its progress.")] = False,
    yes: Yes = False,
    idempotency_key: Key = None,
) -> None:
    """Give managed objects back to the directory.

    Marks and records are removed, and the objects stay. For administrators.
    """
    from chamberlain.releases.cli import release, show_preview

    types = tuple(type_ or ())
    if dry_run:
        show_preview(call, types)
    else:
        release(call, types, comment=comment, key=idempotency_key, yes=yes, wait=wait)


app.add_typer(group_of("tenants"))
app.add_typer(group_of("audit"))


@app.command()
def erase(
    user: Annotated[str, typer.Option(help="Id of the user.")],
    tenant: Annotated[str | None, typer.Option(help="Only in this tenant, by name or id.")] = None,
    data_dir: DataDir = None,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
) -> None:
    """Erase a user from names, bodies of requests and the audit trail."""
    from chamberlain.app.commands.audit import erase as erase_user
    from chamberlain.app.commands.tenants import tenant_id_of

    settings = settings_of(data_dir=data_dir)
    tenant_id = None if tenant is None else tenant_id_of(settings, tenant, option="--tenant")
    erase_user(settings, user, tenant_id, yes=yes)


@app.command()
@prints
def doctor(
    output: "Output",
    host: Host = None,
    port: Port = None,
    data_dir: DataDir = None,
    *,
    permissions: Annotated[
        bool, typer.Option("--permissions", help="List the permissions that Microsoft 365 needs, by template.")
    ] = False,
) -> None:
    """Check database, migrations, keys, issuers, clocks, directory, webhooks and settings.

    Exits 1 if there is a fault.
    """
    from chamberlain.app.doctor.cli import examine_installation
    from chamberlain.app.doctor.permissions import print_permissions

    settings = settings_of(host=host, port=port, data_dir=data_dir)
    if permissions:
        print_permissions(settings, output)
    else:
        examine_installation(settings, output)


@app.command()
@prints
def routes(output: "Output") -> None:
    """Print all endpoints of the API: method, path, permitted operation and handler."""
    from chamberlain.app.routes import ENDPOINTS
    from chamberlain.cli.output import Column

    names = ("method", "path", "operation", "handler")
    records = (
        {
            "method": each.method,
            "path": each.path,
            "operation": each.operation.name.lower() if each.operation else "-",
            "handler": f"{each.handler.__module__}.{each.handler.__name__}",
        }
        for each in ENDPOINTS
    )
    output.show_records(records, [Column(name.upper(), name, wide=name == "handler") for name in names], "endpoints")


@app.command()
def demo(
    port: Port = None,
    data_dir: DataDir = None,
    *,
    reset: Annotated[bool, typer.Option("--reset", help="Bring the sample tenant back to its first state.")] = False,
    yes: Yes = False,
) -> None:
    """Fill the sample tenant with people, groups, approvals and findings.

    It works only with the sample data of the embedded database.
    """
    from chamberlain.app.commands.demo import fill
    from chamberlain.app.commands.demo import reset as reset_sample

    settings = settings_of(port=port, data_dir=data_dir)
    if reset:
        reset_sample(settings, yes=yes)
    else:
        fill(settings)


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


@app.command("help")
def show_help(
    context: typer.Context,
    command: Annotated[list[str] | None, typer.Argument(metavar="COMMAND", help="Words of the command.")] = None,
) -> None:
    """Show the help of the program, or of a command."""
    found, at = context.find_root().command, context.find_root()
    for word in command or ():
        if not isinstance(found, HelpfulGroup):
            break
        _, sub_command, _ = found.resolve_command(at, [word])
        if sub_command is not None:
            found, at = sub_command, sub_command.context_class(sub_command, info_name=word, parent=at)
    print(found.get_help(at))


@app.command("completion")
def show_completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print the script that completes commands in your shell."""
    from typer._completion_shared import get_completion_script

    print(get_completion_script(prog_name="chamberlain", complete_var="_CHAMBERLAIN_COMPLETE", shell=shell))


@app.command("man")
def write_manual(
    context: typer.Context,
    folder: Annotated[Path, typer.Option("--dir", metavar="DIR", help="Folder to write. It is created.")],
) -> None:
    """Write a manual page for each command."""
    from chamberlain.cli.errors import failed
    from chamberlain.cli.man import write_pages

    try:
        number = write_pages(context.find_root(), folder)
    except OSError as error:
        raise failed(f"--dir {folder} cannot be written ({error.strerror}).") from error
    print(f"{number} pages are in {folder}.")


def _require_local(ca: Path | None, *, as_json: bool) -> None:
    if ca is not None or as_json:
        raise typer.BadParameter("--ca and --json need --server.")


def _disable_collector() -> None:
    """Disable garbage collection during the start, which takes an eighth of it.

    The process enables it later.
    """
    gc.disable()
