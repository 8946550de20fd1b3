# SPDX-License-Identifier: Apache-2.0
"""Compare the public interface of two checkouts.

    python3 -m bench.house.interface OLD [NEW]

Each checkout needs its own .venv (`python3 dev.py check` makes it). The script starts the service of each on a free
port. It prints the differences of the OpenAPI document (without descriptions, summaries and the sentences of its
examples), commands and options, exit codes, settings, metrics, keys of log lines, enumerated values, dotted names
(event types, audit actions), fields of the wire, names of the Python client, and paths of the documentation. The exit
code is 1 if anything differs.
"""

import argparse
import ast
import contextlib
import json
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from bench.house.sources import trees_of
from tests.services import free_port

Facts = Mapping[str, Sequence[str]]
# Members of the OpenAPI document that are for readers, and those of the problem documents and requests in its examples.
TEXTS = frozenset({"description", "summary"})
TEXTS_OF_EXAMPLES = frozenset({"title", "detail", "comment"})

# Runs in the .venv of the checkout. A command line is found whatever its modules are called.
COMMANDS = """
import importlib.metadata, json, typer
found = []
typer.Typer.__call__ = lambda self, *args, **options: found.append(self)
(entry,) = importlib.metadata.entry_points(group="console_scripts", name="chamberlain")
entry.load()()
lines = []
def walk(command, path):
    for parameter in command.params:
        names = "|".join(sorted([*parameter.opts, *parameter.secondary_opts]))
        kind = getattr(getattr(parameter, "type", None), "name", "")
        many = getattr(parameter, "multiple", False), getattr(parameter, "nargs", 1)
        lines.append(f"{path} {names} {kind} {parameter.required} {many}")
    lines.append(path)
    for name, child in getattr(command, "commands", {}).items():
        walk(child, f"{path} {name}")
walk(typer.main.get_command(found[0]), "chamberlain")
print(json.dumps(lines))
"""
# Every class of the client that a program can get hold of, whatever its module is called. Keyword arguments have no
# order.
CLIENT = """
import enum, importlib, inspect, json, pkgutil, re
import chamberlain_client, msgspec
def plain(text):
    return re.sub(r"chamberlain_client[.\\w]*\\.|msgspec\\._core\\.", "", re.sub(r" at 0x\\w+", "", text))
lines, classes = list(chamberlain_client.__all__), {}
internal = {"Answer", "Response", "AsyncResource", "Resource", "AsyncTransport", "Transport"}
for found in pkgutil.walk_packages(chamberlain_client.__path__, "chamberlain_client."):
    for name, value in vars(importlib.import_module(found.name)).items():
        of_client = inspect.isclass(value) and value.__module__.startswith("chamberlain_client")
        if of_client and name[0] != "_" and name not in internal:
            classes[name] = value
for name, value in classes.items():
    if issubclass(value, Exception):
        lines.append(f"{name} {[each.__name__ for each in value.__mro__]}")
    elif issubclass(value, enum.Enum):
        lines.append(f"{name} {[(key, each.value) for key, each in value.__members__.items()]}")
    elif issubclass(value, msgspec.Struct):
        parameters = inspect.signature(value).parameters.values()
        lines.append(f"{name} {[each.name for each in parameters if each.kind is not each.KEYWORD_ONLY]}")
        for each in msgspec.structs.fields(value):
            default = f"{each.default} {each.default_factory}"
            lines.append(plain(f"{name}.{each.name} {each.encode_name} {each.type} {default}"))
    for member in dir(value):
        function = inspect.getattr_static(value, member, None)
        if inspect.isfunction(function) and (member[0] != "_" or member == "__init__"):
            lines.append(plain(f"{name}.{member}{inspect.signature(function)}"))
        elif member[0] != "_":
            lines.append(f"{name}.{member}")
print(json.dumps(lines))
"""


def main() -> int:
    """Compare the checkouts of the command line, and print the differences."""
    parser = argparse.ArgumentParser(prog="python3 -m bench.house.interface", description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path, nargs="?", default=Path.cwd())
    options = parser.parse_args()
    old, new = facts_of(options.old.resolve()), facts_of(options.new.resolve())
    differs = False
    for name in old:
        gone, added = set(old[name]) - set(new[name]), set(new[name]) - set(old[name])
        print(f"{name:16} {len(old[name]):6} {len(new[name]):6} {'equal' if not gone and not added else 'differs'}")
        for sign, lines in (("-", gone), ("+", added)):
            differs = differs or bool(lines)
            for line in sorted(lines):
                print(f"  {sign} {line}")
    return int(differs)


def facts_of(root: Path) -> Facts:
    """Collect the interface of one checkout, as lines of text for each part."""
    return {
        "openapi": sorted(openapi_lines(root)),
        "commands": run_json(root, COMMANDS),
        "client": run_json(root, CLIENT),
        "settings": sorted(settings_of(root)),
        "exit codes": sorted(members_of(root, "ExitCode")),
        "metrics": sorted(metrics_of(root)),
        "log keys": sorted(log_keys_of(root)),
        "enumerations": sorted(enumerations_of(root)),
        "dotted names": sorted(dotted_names_of(root)),
        "fields": sorted(fields_of(root)),
        "pages": sorted(path.relative_to(root).as_posix() for path in (root / "docs").rglob("*.md")),
    }


def run_json(root: Path, code: str) -> Sequence[str]:
    """Run code in the environment of a checkout, and read the JSON that it prints."""
    python = str(root / ".venv/bin/python")
    done = subprocess.run([python, "-c", code], cwd=root, check=True, capture_output=True, text=True)
    lines: list[str] = json.loads(done.stdout)
    return sorted(lines)


def openapi_lines(root: Path) -> Iterator[str]:
    """Serve the checkout, and list each value of its OpenAPI document with its place."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="ch-house-") as folder:
        command = [str(root / ".venv/bin/chamberlain"), "serve", "--port", str(port), "--data-dir", folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            try:
                assert process.stdout is not None
                # The service prints its addresses just before it listens.
                for line in process.stdout:
                    if f":{port}" in line:
                        break
                text = fetch(f"http://127.0.0.1:{port}/openapi.json")
            finally:
                process.terminate()
    document = json.loads(text.replace(f":{port}", ":PORT").replace(f":{port + 1}", ":PORT"))
    # Shared responses are numbered in the order of the endpoints.
    responses = document["components"].pop("responses")
    for path in document["paths"].values():
        for operation in path.values():
            for status, response in operation["responses"].items():
                name = response.get("$ref", "").rpartition("/")[2]
                operation["responses"][status] = responses.get(name, response)
    yield from leaves(document, "")


def fetch(address: str, attempts: int = 200) -> str:
    """Fetch a page of a service that is about to listen."""
    for _ in range(attempts):
        with contextlib.suppress(urllib.error.URLError), urllib.request.urlopen(address, timeout=10) as answer:  # noqa: S310 - always http to loopback.
            text: str = answer.read().decode()
            return text
        time.sleep(0.1)
    raise SystemExit(f"{address} does not answer.")


def leaves(value: object, place: str) -> Iterator[str]:
    """List the values of a JSON document with their places, without the texts for readers."""
    match value:
        case dict():
            texts = TEXTS | TEXTS_OF_EXAMPLES if "/example" in place else TEXTS
            for name, member in value.items():
                # A property may be called description; a text is a string.
                if name not in texts or not isinstance(member, str):
                    yield from leaves(member, f"{place}/{name}")
        case list():
            for index, member in enumerate(value):
                # The order of tags and servers is for readers.
                yield from leaves(member, f"{place}/{'*' if place in {'/tags', '/servers'} else index}")
        case _:
            yield f"{place} = {json.dumps(value)}"


def settings_of(root: Path) -> Iterator[str]:
    """List the settings: fields of the classes that read the environment."""
    for tree in trees_of(root):
        for node in classes(tree):
            if "BaseSettings" in bases_of(node):
                yield from (name for name, _ in annotated(node))


def members_of(root: Path, class_name: str) -> Iterator[str]:
    """List the members of an enumeration with their values."""
    for tree in trees_of(root):
        for node in classes(tree):
            if node.name == class_name:
                yield from (ast.unparse(each) for each in node.body if isinstance(each, ast.Assign))


def metrics_of(root: Path) -> Iterator[str]:
    """List the metrics with their labels."""
    for tree in trees_of(root):
        for call in calls(tree):
            named = ast.unparse(call.func)
            if named in {"Counter", "Gauge", "Histogram", "GaugeMetricFamily"} and call.args:
                name = constant(call.args[0])
                if isinstance(name, str) and name.startswith("chamberlain_"):
                    labels = ast.unparse(call.args[2]) if len(call.args) > 2 else ""
                    yield f"{named} {name} {labels}"


def log_keys_of(root: Path) -> Iterator[str]:
    """List the keys that are added to log lines by name, also by a variable or function of the module."""
    levels = {"debug", "info", "warning", "error", "exception", "critical"}
    for tree in trees_of(root):
        definitions = definitions_of(tree)
        for call in calls(tree):
            if isinstance(call.func, ast.Attribute) and call.func.attr in levels:
                for keyword in call.keywords:
                    if keyword.arg == "extra":
                        yield from keys_of(keyword.value, definitions)
                    elif keyword.arg not in {None, "exc_info"}:
                        yield str(keyword.arg)


def definitions_of(tree: ast.Module) -> Mapping[str, Sequence[ast.AST]]:
    """Return the values of the variables of a module, and its functions, by name."""
    found: dict[str, list[ast.AST]] = defaultdict(list)
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name].append(value)
            case ast.FunctionDef(name=name):
                found[name].extend(each for each in node.body if isinstance(each, ast.Assign | ast.Return))
            case _:
                pass
    return found


def keys_of(value: ast.AST, definitions: Mapping[str, Sequence[ast.AST]]) -> Iterator[str]:
    """List the keys of the dictionaries in an expression, and in the definitions of its names."""
    for node in ast.walk(value):
        if isinstance(node, ast.Dict):
            names = [constant(key) for key in node.keys if key is not None]
            yield from (name for name in names if isinstance(name, str))
        elif isinstance(node, ast.Name):
            # A name without its own definition cannot refer to itself.
            others = {name: nodes for name, nodes in definitions.items() if name != node.id}
            for definition in definitions.get(node.id, ()):
                yield from keys_of(definition, others)


def enumerations_of(root: Path) -> Iterator[str]:
    """List the values of all text enumerations."""
    for tree in trees_of(root):
        for node in classes(tree):
            if "StrEnum" in bases_of(node):
                values = [constant(each.value) for each in node.body if isinstance(each, ast.Assign)]
                if texts := sorted(value for value in values if isinstance(value, str)):
                    yield ", ".join(texts)


def dotted_names_of(root: Path) -> Iterator[str]:
    """List constants such as `request.accepted`: event types and audit actions."""
    for tree in trees_of(root):
        for node in ast.walk(tree):
            value = constant(node)
            if isinstance(value, str) and 1 <= value.count(".") <= 2 and len(value) < 40:
                parts = value.split(".")
                is_name = parts[0] != "chamberlain" and parts[-1] not in {"html", "sql"}
                if is_name and all(part.isalpha() and part[0].islower() for part in parts):
                    yield value


def fields_of(root: Path) -> Iterator[str]:
    """List the fields of all JSON shapes as they are on the wire."""
    for tree in trees_of(root):
        for node in classes(tree):
            renamed = any(each.arg == "rename" and constant(each.value) == "camel" for each in node.keywords)
            if renamed or "Struct" in bases_of(node):
                yield from (camel(name) if renamed else name for name, _ in annotated(node))


def camel(name: str) -> str:
    """Write a name as JSON does."""
    first, *others = name.split("_")
    return first + "".join(each.capitalize() for each in others)


def classes(tree: ast.Module) -> Iterable[ast.ClassDef]:
    """List the classes of a module."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def calls(tree: ast.Module) -> Iterable[ast.Call]:
    """List the calls of a module."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def bases_of(node: ast.ClassDef) -> frozenset[str]:
    """List the bases of a class as they are written."""
    return frozenset(ast.unparse(base) for base in node.bases)


def annotated(node: ast.ClassDef) -> Iterator[tuple[str, ast.AnnAssign]]:
    """List the annotated fields of a class."""
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            yield each.target.id, each


def constant(node: ast.AST) -> object:
    """Return the value of a constant, and None for all else."""
    return node.value if isinstance(node, ast.Constant) else None


if __name__ == "__main__":
    sys.exit(main())
