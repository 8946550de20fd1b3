# SPDX-License-Identifier: Apache-2.0
"""Each sample names a command and a method that exist, with options and arguments that they take."""

import ast
import inspect
import re
import shlex

import pytest
import typer
from typer.core import TyperGroup

from chamberlain.app.cli import app
from chamberlain.app.routes import ENDPOINTS
from chamberlain.http.openapi import describe
from chamberlain.http.samples import SAMPLES, samples_of
from chamberlain_client import Chamberlain
from tests.http.http_fixture import BASE, HttpFixture

DOCUMENT = describe(ENDPOINTS, HttpFixture().http())
ALL = {
    operation["operationId"]: samples_of(operation, method, path, BASE)
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
}
# The SDK and the command line leave these to monitors and browsers.
PROBES = {"readHealth", "readLiveness", "readReadiness", "readService"}
WITHOUT_COMMAND = PROBES | {"listReleases", "nameApprovers", "readRelease", "readTenant", "replaceTenant"}
COMMANDS = {name: samples["Command line"] for name, samples in ALL.items() if "Command line" in samples}
PROGRAMS = {name: samples["Python"] for name, samples in ALL.items() if "Python" in samples}


def test_it_works() -> None:
    assert set(SAMPLES) == set(ALL)
    assert all("curl" in samples for samples in ALL.values())
    assert set(ALL) - set(COMMANDS) <= WITHOUT_COMMAND
    assert set(ALL) - set(PROGRAMS) <= PROBES


@pytest.mark.parametrize("name", ALL)
def test_curl_calls_the_operation(name: str) -> None:
    (endpoint,) = [each for each in ENDPOINTS if each.about.id == name]

    program, *words = shlex.split(ALL[name]["curl"])

    assert program == "curl"
    (address,) = [word for word in words if word.startswith(BASE)]
    pattern = re.sub(r"{\w+}", r"(\\$[A-Z_]+|[0-9a-f-]{36})", endpoint.path)
    assert re.fullmatch(pattern, address.removeprefix(BASE).partition("?")[0])
    query = re.findall(r"[?&](\w+)=", address)
    assert set(query) <= {parameter.name for parameter in endpoint.parameters}
    method = words[words.index("-X") + 1] if "-X" in words else "POST" if "-d" in words else "GET"
    assert method == endpoint.method
    if "-d" in words and endpoint.shape is not None:
        endpoint.shape.read(words[words.index("-d") + 1].encode())
    assert ("Authorization: Bearer $TOKEN" in words) == (endpoint.operation is not None)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_exists_and_takes_the_options(name: str) -> None:
    command = typer.main.get_command(app)
    program, *words = shlex.split(re.sub(r"<<'JSON'\n(.|\n)*\nJSON|\\\n", "", COMMANDS[name]))

    assert program == "chamberlain"
    while isinstance(command, TyperGroup):
        command = command.commands[words.pop(0)]
    # Raises UsageError for an unknown option, a missing argument and a value of another type.
    command.make_context(name, words)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_method_exists_and_takes_the_arguments(name: str) -> None:
    tree = ast.parse(PROGRAMS[name])

    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and is_of_client(node.func)]
    assert calls
    with Chamberlain(BASE, "token", verify=False) as client:
        for call in calls:
            assert isinstance(call.func, ast.Attribute)
            assert isinstance(call.func.value, ast.Attribute)
            method = getattr(getattr(client, call.func.value.attr), call.func.attr)
            named = {str(each.arg): None for each in call.keywords}
            inspect.signature(method).bind(*call.args, **named)


def is_of_client(function: ast.expr) -> bool:
    """Whether a called function is `client.noun.method`."""
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Attribute)
        and isinstance(function.value.value, ast.Name)
        and function.value.value.id == "client"
    )
