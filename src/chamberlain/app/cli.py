"""All commands on one screen. What a command needs is imported when it runs, so that `--help` is quick."""

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chamberlain.cli.lazy import lazy_group
from chamberlain.cli.options import DataDir, calls, settings_of

if TYPE_CHECKING:
    from chamberlain.cli.calls import Call

app = typer.Typer(
    name="chamberlain",
    help="Creates mailboxes, groups and teams from templates, and assigns the rules for guests.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

# The groups of commands by the name of their table in a module: name, module and help.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "mailboxes": ("mailbox", "chamberlain.mailboxes.cli", "Ask for mailboxes, and look at them."),
    "groups": ("group", "chamberlain.guests.cli", "Ask for groups, look at them, assign guest rules."),
    "teams": ("team", "chamberlain.groups.cli", "Ask for teams. A team is a group: `group` shows it."),
    "sites": ("site", "chamberlain.guests.cli", "Look at managed sites, and assign guest rules to them."),
    "requests": ("request", "chamberlain.requests.cli", "Follow what was asked for, and decide on it."),
    "templates": ("template", "chamberlain.template_admin.cli", "Look at templates, and write them."),
    "policies": (
        "policy",
        "chamberlain.guests.policies.cli",
        "Look at guest policies, and write them. For administrators.",
    ),
    "findings": ("finding", "chamberlain.guests.findings.cli", "What is against the rules, and what becomes of it."),
    "drift": ("drift", "chamberlain.drift.cli", "What was changed in the directory behind the service's back."),
    "adoptions": (
        "adoption",
        "chamberlain.adoptions.cli",
        "Take existing mailboxes and groups under management. For administrators.",
    ),
    "deliveries": (
        "delivery",
        "chamberlain.webhooks.cli",
        "What webhooks were told, and telling it again. For administrators.",
    ),
    "webhooks": ("webhook", "chamberlain.webhooks.cli", "Try webhooks, and renew their secrets. For administrators."),
    "tenants": ("tenant", "chamberlain.app.commands.tenants", "Show, suspend, export and delete tenants."),
    "audit": ("audit", "chamberlain.app.commands.audit", "List and verify the audit trail."),
    "jobs": ("jobs", "chamberlain.app.commands.jobs", "Show and release jobs that are held."),
    "keys": ("keys", "chamberlain.app.commands.keys", "Show, rotate and drop the keys that seal what is stored."),
    "retention": ("retention", "chamberlain.app.commands.retention", "Let retention go on after a gap in time."),
}

Port = Annotated[int | None, typer.Option(help="Port of the http listener; https is on the next one. Default 8365.")]
Host = Annotated[str | None, typer.Option(help="Address to listen on. Default 127.0.0.1.")]

Files = Annotated[list[Path], typer.Argument(metavar="FILES", help="Configuration files, together one configuration.")]


def group_of(attribute: str) -> typer.Typer:
    """Return a group of commands that is imported when it is used."""
    name, module, help_text = COMMANDS[attribute]
    return lazy_group(name, module, attribute, help_text)


def main() -> None:
    """The entry point of the command."""
    app()


@app.command()
def serve(
    host: Host = None,
    port: Port = None,
    data_dir: DataDir = None,
    *,
    worker: Annotated[bool, typer.Option(help="Also work on the queue in this process.")] = True,
) -> None:
    """Run the service: the API, and a worker unless told otherwise."""
    _rest_while_building()
    from chamberlain.app.serve import run_serve

    run_serve(settings_of(host=host, port=port, data_dir=data_dir), with_worker=worker)


@app.command()
def worker(data_dir: DataDir = None) -> None:
    """Work on the queue of an outside database, without an API."""
    _rest_while_building()
    from chamberlain.app.serve import run_worker

    run_worker(settings_of(data_dir=data_dir))


@app.command()
def migrate(
    data_dir: DataDir = None,
    *,
    show: Annotated[bool, typer.Option("--print", help="Print the SQL, roles included, and change nothing.")] = False,
    example: Annotated[bool, typer.Option("--example", help="Load the example estate if there is no tenant.")] = False,
    before: Annotated[
        bool, typer.Option("--before", help="Only what comes before new processes, while old ones run on.")
    ] = False,
) -> None:
    """Bring an outside database up to date, as its owner (CHAMBERLAIN_DATABASE_OWNER_URL)."""
    from chamberlain.app.maintenance import print_migrations, run_migrations, run_migrations_before

    if (show, example, before).count(True) > 1:
        raise typer.BadParameter("Name one of --print, --example and --before; none of them goes with another.")
    if show:
        print_migrations()
    elif before:
        run_migrations_before(settings_of(data_dir=data_dir))
    else:
        run_migrations(settings_of(data_dir=data_dir), example=example)


@app.command()
def token(
    scope: Annotated[list[str], typer.Option(help="What the token is for; may be given several times.")],
    user: Annotated[str | None, typer.Option(help="Mail address of the user it speaks for.")] = None,
    client: Annotated[str | None, typer.Option(help="Name or id of the program it speaks for.")] = None,
    port: Port = None,
    data_dir: DataDir = None,
) -> None:
    """Print an access token of the embedded identity platform, for scripts on this machine."""
    from chamberlain.cli.tokens import print_token

    print_token(settings_of(port=port, data_dir=data_dir), user=user, client=client, scopes=scope)


@app.command()
@calls
def login(
    call: "Call",
    *,
    issuer: Annotated[
        str | None, typer.Option(metavar="URL", help="The identity platform; without it the one that comes along.")
    ] = None,
    tenant: Annotated[
        str | None, typer.Option(metavar="ID", help="The tenant, at the identity platform that comes along.")
    ] = None,
    client_id: Annotated[str | None, typer.Option(metavar="ID", help="What this program is called there.")] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="What to ask for: the names of one resource; may be given repeatedly."),
    ] = None,
    browser: Annotated[bool, typer.Option("--browser", help="With a browser on this machine, without a code.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Even if somebody is signed in already.")] = False,
) -> None:
    """Sign in, with a code that is typed in in any browser. It is remembered."""
    from chamberlain.cli.login import Wanted, login

    wanted = Wanted(issuer, tenant, client_id, tuple(scope or ()))
    login(call, wanted, with_browser=browser, again=again)


@app.command()
@calls
def logout(call: "Call") -> None:
    """Forget who is signed in."""
    from chamberlain.cli.login import logout

    logout(call)


@app.command()
@calls
def whoami(call: "Call") -> None:
    """Show who is signed in, where, until when, and what for."""
    from chamberlain.cli.login import whoami

    whoami(call)


for noun in list(COMMANDS)[:12]:
    app.add_typer(group_of(noun))


@app.command()
def plan(files: Files, data_dir: DataDir = None) -> None:
    """Show what configuration files would create, change and remove. The exit code is 0 when that is nothing, 2 when it
    is something, 1 when it cannot be done."""
    from chamberlain.app.commands.configuration import show_plan

    show_plan(settings_of(data_dir=data_dir), files)


@app.command()
def apply(
    files: Files,
    data_dir: DataDir = None,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask when something is removed.")] = False,
) -> None:
    """Bring tenants, templates and policies to what configuration files say: all of it, or nothing."""
    from chamberlain.app.commands.configuration import apply_files

    apply_files(settings_of(data_dir=data_dir), files, yes=yes)


@app.command()
def export(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Where to write it; else it is printed.")] = None,
    tenant: Annotated[str | None, typer.Option(help="The id of the only tenant to be in it.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Write a configuration file with tenants, templates and policies as they are."""
    from chamberlain.app.commands.configuration import export_files
    from chamberlain.app.commands.tenants import tenant_id_of

    export_files(settings_of(data_dir=data_dir), None if tenant is None else tenant_id_of(tenant), file)


app.add_typer(group_of("tenants"))
app.add_typer(group_of("audit"))


@app.command()
def erase(
    user: Annotated[str, typer.Option(help="The id of the user.")],
    tenant: Annotated[str | None, typer.Option(help="The id of the only tenant to look in.")] = None,
    data_dir: DataDir = None,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Empty what is kept of a user who is to be forgotten: names, bodies of requests, rows of the audit trail."""
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
    """Look at database, migrations, keys, issuers, clocks, directory, webhooks and settings, and say what to do. The
    exit code is 1 when there is a fault."""
    from chamberlain.app.doctor.cli import examine_installation

    examine_installation(settings_of(host=host, port=port, data_dir=data_dir), as_json=as_json)


app.add_typer(group_of("jobs"))


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it; it must not be there yet.")],
    data_dir: DataDir = None,
) -> None:
    """Write a backup of the embedded database, beside the running service. The keys are not in it."""
    from chamberlain.app.backup import take

    take(settings_of(data_dir=data_dir), file)


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup.")],
    data_dir: DataDir = None,
) -> None:
    """Put a backup into a data directory that has no database yet."""
    from chamberlain.app.backup import restore as restore_backup

    restore_backup(settings_of(data_dir=data_dir), file)


app.add_typer(group_of("keys"))
app.add_typer(group_of("retention"))


def _rest_while_building() -> None:
    """What is imported and built now stays until the end: to look whether it is garbage is an eighth of a start. The
    process has the collector go on when all is built."""
    gc.disable()
