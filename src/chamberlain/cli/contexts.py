# SPDX-License-Identifier: Apache-2.0
"""Commands of contexts: list, show, use, add and remove."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from chamberlain.cli.errors import ExitCode, Misused, ended, reported_misuse
from chamberlain.cli.formats import Output
from chamberlain.cli.help import CommandTable
from chamberlain.cli.options import prints, settings_of
from chamberlain.cli.output import Column, Record, say
from chamberlain.cli.sign_ins import Context, Contexts, SignIns, SignInsUnreadable

contexts = CommandTable()

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the context.")]
_COLUMNS = (
    Column("CURRENT", "current"),
    Column("NAME", "name"),
    Column("SERVER", "server"),
    Column("USER", "username"),
    Column("TENANT", "tenant", wide=True),
)


@contexts.command("list")
@prints
def list_contexts(output: Output) -> None:
    """List the saved contexts."""
    with _saved() as saved:
        kept = saved.contexts()
        rows = [_record(name, kept) for name in kept.contexts]
        output.show_records(rows, _COLUMNS, "contexts")


@contexts.command("show")
@prints
def show_context(
    output: Output,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Context. Default: the current one.")] = None,
) -> None:
    """Show a context: address, sign-in and trusted certificates."""
    with _saved() as saved:
        kept = saved.contexts()
        chosen = name or settings_of().context or kept.current
        if chosen is None:
            raise ended(ExitCode.NOT_THERE, "There is no current context. Make one: chamberlain login.")
        kept.require(chosen)
        output.show(_record(chosen, kept))


@contexts.command("use")
def use_context(name: Name) -> None:
    """Make a context the current one."""
    with _saved() as saved, saved.locked():
        kept = saved.contexts()
        server = kept.require(name).server
        saved.write_contexts(replace(kept, current=name))
    say(f"Commands call {server} from now on.")


@contexts.command("add")
def add_context(
    name: Name,
    *,
    server: Annotated[str, typer.Option(metavar="URL", help="Address of the service.")],
    ca: Annotated[Path | None, typer.Option(metavar="FILE", help="Additional CA certificates to trust.")] = None,
    issuer: Annotated[str | None, typer.Option(metavar="URL", help="Identity platform, for `login`.")] = None,
    tenant: Annotated[str | None, typer.Option(metavar="ID", help="Tenant, at the embedded identity platform.")] = None,
    client_id: Annotated[
        str | None, typer.Option(metavar="ID", help="Client id of this program at the issuer.")
    ] = None,
) -> None:
    """Save a service under a name. `login` signs you in to it."""
    address = settings_of(server=server).server or server
    with _saved() as saved, saved.locked():
        if re.fullmatch(r"\S+", name) is None or not name.isprintable():
            raise Misused("The NAME of a context has no spaces and no control characters.")
        kept = saved.contexts()
        if name in kept.contexts:
            raise Misused(f"There is a context {name} already. Remove it first: chamberlain context remove {name}")
        if issuer is not None and tenant is not None:
            raise Misused("Name either the --issuer or the --tenant of the embedded identity platform.")
        made = Context(address, None if ca is None else str(ca.absolute()), issuer, tenant, client_id)
        current = kept.current or name
        saved.write_contexts(Contexts(current, {**kept.contexts, name: made}))
    say(f"Sign in: chamberlain login --context {name}")


@contexts.command("remove")
def remove_context(name: Name) -> None:
    """Remove a context and its sign-in."""
    from chamberlain.cli.sign_in import forget_unused

    with _saved() as saved, saved.locked():
        kept = saved.contexts()
        removed = kept.require(name)
        others = {other: context for other, context in kept.contexts.items() if other != name}
        saved.write_contexts(Contexts(None if kept.current == name else kept.current, others))
        if removed.sign_in is not None:
            forget_unused(saved, removed.sign_in)
    say(f"The context {name} is removed.")


@contextmanager
def _saved() -> Iterator[SignIns]:
    """Open the contexts, and report the errors of these commands."""
    with reported_misuse():
        try:
            yield SignIns(settings_of().config_dir)
        except SignInsUnreadable as error:
            raise ended(ExitCode.FAILED, str(error)) from error


def _record(name: str, kept: Contexts) -> Record:
    context = kept.contexts[name]
    return {
        "name": name,
        "current": name == kept.current,
        "server": context.server,
        "username": context.sign_in and context.sign_in.username,
        "tenant": context.tenant,
        "issuer": context.sign_in.issuer if context.sign_in else context.issuer,
        "clientId": context.sign_in.client_id if context.sign_in else context.client_id,
        "certificates": context.certificates,
    }
