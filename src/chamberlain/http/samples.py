# SPDX-License-Identifier: Apache-2.0
"""Samples of each operation: curl, command line, Python."""

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, Final
from urllib.parse import parse_qsl

from msgspec import Struct, json, toml

# A JSON value as the OpenAPI document has it.
Json = Mapping[str, Any]


class Sample(Struct, frozen=True, forbid_unknown_fields=True):
    """The hand-written parts of the samples of one operation; samples.toml describes them."""

    command: str = ""
    python: str = ""
    imports: str = ""
    ids: dict[str, str] = {}
    query: str = ""
    body: dict[str, Any] | None = None


SAMPLES: Final = toml.decode(files("chamberlain.http").joinpath("samples.toml").read_bytes(), type=dict[str, Sample])
_NONE = Sample()
_LANGUAGES = ("curl", "Command line", "Python")


def samples_of(operation: Json, method: str, path: str, base_url: str) -> Mapping[str, str]:
    """Return the samples of an operation by language.

    Languages without a sample are missing.
    """
    sample = SAMPLES.get(operation["operationId"], _NONE)
    body = body_of(operation)
    texts = (
        _curl(operation, method, f"{base_url}{_address(path, sample)}", body),
        _command(sample, body, base_url),
        _python(sample, base_url),
    )
    return {language: text for language, text in zip(_LANGUAGES, texts, strict=True) if text}


def variables_of(samples: Mapping[str, str]) -> Sequence[str]:
    """Return the environment variables that the samples need beside the token."""
    names = re.findall(r"\$([A-Z_]+)", "".join(samples.values()))
    return [name for name in dict.fromkeys(names) if name != "TOKEN"]


def body_of(operation: Json) -> str | None:
    """Return the sample body of an operation as text; None without one."""
    sample = SAMPLES.get(operation["operationId"], _NONE)
    contents = list(operation.get("requestBody", {"content": {}})["content"].values())
    body = sample.body or (contents[0].get("example") if contents else None)
    return None if body is None else json.format(json.encode(body), indent=2).decode()


def value_of(operation: Json, parameter: str) -> str:
    """Return the sample value of a parameter; empty without one."""
    sample = SAMPLES.get(operation["operationId"], _NONE)
    values = {**dict(parse_qsl(sample.query)), **sample.ids}
    value = values.get(parameter, "")
    return "" if value.startswith("$") else value


def _address(path: str, sample: Sample) -> str:
    address = re.sub(r"{(\w+)}", lambda id_: sample.ids.get(id_[1], f"${_variable(id_[1])}"), path)
    return f"{address}?{sample.query}" if sample.query else address


def _variable(name: str) -> str:
    return re.sub("([A-Z])", r"_\1", name).upper()


def _curl(operation: Json, method: str, address: str, body: str | None) -> str:
    kinds = [kind for response in operation["responses"].values() for kind in response.get("content", {})]
    # Buffering would delay the events of a stream.
    options = ["-N"] if "text/event-stream" in kinds else []
    if method != "get" and not (method == "post" and body):
        options.append(f"-X {method.upper()}")
    lines = [" ".join(["curl", *options, f'"{address}"'])]
    if operation["security"]:
        lines.append('-H "Authorization: Bearer $TOKEN"')
    if body is not None:
        lines += ['-H "Content-Type: application/json"', f"-d '{body}'"]
    return " \\\n  ".join(lines)


def _command(sample: Sample, body: str | None, base_url: str) -> str:
    return sample.command.strip().replace("{server}", base_url).replace("{body}", f"- <<'JSON'\n{body}\nJSON")


def _python(sample: Sample, base_url: str) -> str:
    if not sample.python:
        return ""
    standard, ours = "import os\n", "from chamberlain_client import Chamberlain\n"
    if sample.imports.startswith("from chamberlain_client"):
        ours += f"{sample.imports}\n"
    elif sample.imports:
        standard += f"{sample.imports}\n"
    lines = "".join(f"    {line}\n" for line in sample.python.strip().splitlines())
    return f'{standard}\n{ours}\nwith Chamberlain("{base_url}", os.environ["TOKEN"]) as client:\n{lines}'.rstrip()
