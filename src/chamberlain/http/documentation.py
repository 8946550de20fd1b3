"""Render the OpenAPI document as one page of HTML.

The page has no scripts and sends no requests to other hosts.
"""

import asyncio
import gzip
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from msgspec import json

from chamberlain.http.responses import Answer, Headers

# Content types of responses other than problems.
_SHOWN = ("application/json", "application/x-ndjson", "text/event-stream")
_PROBLEM = "application/problem+json"
# A JSON value as the OpenAPI document has it.
Json = Mapping[str, Any]

STYLE = files("chamberlain.http").joinpath("documentation.css").read_text("utf-8")
_STYLE_DIGEST = b64encode(sha256(STYLE.encode()).digest()).decode("ascii")
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        f"style-src 'sha256-{_STYLE_DIGEST}'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)


def render(document: Json) -> bytes:
    """Render a document."""
    info, components = document["info"], document["components"]
    operations = [
        _Operation(path, method, operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
    ]
    tags = "".join(_tag(tag["name"], operations, components) for tag in document["tags"])
    schemas = "".join(_schema_section(name, schema) for name, schema in components["schemas"].items())
    bases = " or ".join(_code(server["url"]) for server in document["servers"])
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(info["title"])} API</title>
<style>{STYLE}</style>
</head>
<body>
<header>
<h1>{escape(info["title"])} API <small>{escape(info["version"])}</small></h1>
{_prose(info["description"])}
<p>Base address: {bases}. As JSON: <a href="/openapi.json">openapi.json</a>.</p>
<nav>{_list(operation.link for operation in operations)}</nav>
</header>
<main>
{tags}
<section id="problems"><h2>Codes of problems</h2>{_problems(components["examples"])}</section>
<section id="schemas"><h2>Schemas</h2>{schemas}</section>
</main>
</body>
</html>
""".encode()


@dataclass(frozen=True, slots=True)
class _Operation:
    path: str
    method: str
    about: Json

    @property
    def name(self) -> str:
        return f'<span class="method">{self.method.upper()}</span> {_code(self.path)}'

    @property
    def link(self) -> str:
        return f'<a href="#{self.about["operationId"]}">{self.name}</a> {escape(self.about["summary"])}'


def _tag(name: str, operations: Sequence[_Operation], components: Json) -> str:
    sections = (_section(operation, components) for operation in operations if name in operation.about["tags"])
    return f"<h2>{escape(name)}</h2>{''.join(sections)}"


def _section(operation: _Operation, components: Json) -> str:
    about = operation.about
    parts = [
        f'<section id="{about["operationId"]}"><h3>{operation.name}</h3>',
        _prose(f"{about['summary']}.\n\n{about['description']}"),
        _parameters([_resolved(parameter, components) for parameter in about["parameters"]]),
        _body(about.get("requestBody")),
        _responses(about["responses"], components),
        "</section>",
    ]
    return "".join(parts)


def _parameters(parameters: Sequence[Json]) -> str:
    rows = ((_code(one["name"]), one["in"], _prose(one.get("description", ""))) for one in parameters)
    return _table(("Parameter", "In", "Meaning"), rows)


def _body(body: Json | None) -> str:
    if body is None:
        return ""
    return "".join(f"<h4>Body</h4>{_content(content)}" for content in body["content"].values())


def _content(content: Json) -> str:
    if "x-events" in content:
        return _list(f"Data of {_code(name)}: {_type(data)}" for name, data in content["x-events"].items())
    if "x-line" in content:
        return f"<p>Each line of JSON: {_type(content['x-line'])}</p>"
    example = f"<pre><code>{_pretty(content['example'])}</code></pre>" if "example" in content else ""
    return f"<p>{_type(content['schema'])}</p>{example}"


def _responses(responses: Json, components: Json) -> str:
    rows = []
    for status, response in sorted(responses.items()):
        headers = (
            f"{_code(name)}: {_prose_inline(_resolved(header, components)['description'])}"
            for name, header in response.get("headers", {}).items()
            if status.startswith("2")
        )
        # Examples of problems are omitted, because the links of their codes lead to one table.
        contents = (_content(one) for kind, one in response.get("content", {}).items() if kind in _SHOWN)
        meaning = _codes(response) or _prose(response["description"])
        rows.append((status, f"{meaning}{_list(headers)}{''.join(contents)}"))
    return f"<h4>Answers</h4>{_table(('Status', 'Meaning'), rows)}"


def _codes(response: Json) -> str:
    """Link the codes of problems.

    One table has their meanings, which keeps the page small.
    """
    codes = response.get("content", {}).get(_PROBLEM, {}).get("examples", {})
    return ", ".join(f'<a href="#{code}">{_code(code)}</a>' for code in codes)


def _problems(examples: Json) -> str:
    rows = (
        f'<tr id="{code}"><td>{one["value"]["status"]}</td><td>{_code(code)}</td><td>{escape(one["summary"])}</td></tr>'
        for code, one in examples.items()
    )
    head = "<thead><tr><th>Status</th><th>Code</th><th>Meaning</th></tr></thead>"
    return f"<table>{head}<tbody>{''.join(rows)}</tbody></table>"


def _schema_section(name: str, schema: Json) -> str:
    required = schema.get("required", ())
    rows = (
        (_code(key), _type(value), "required" if key in required else "", _prose(value.get("description", "")))
        for key, value in schema.get("properties", {}).items()
    )
    table = _table(("Property", "Type", "", "Meaning"), rows) if "properties" in schema else f"<p>{_type(schema)}</p>"
    words = _prose(schema.get("description", ""))
    return f'<section id="schema-{escape(name)}"><h3>{escape(name)}</h3>{words}{table}</section>'


def _type(schema: Json) -> str:
    """Describe a schema briefly."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f'<a href="#schema-{escape(name)}">{escape(name)}</a>'
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"])
    if "enum" in schema:
        return "one of " + ", ".join(_code(str(value)) for value in schema["enum"])
    words = [schema.get("format", schema.get("type", "any value"))]
    if "items" in schema:
        words.append(f"of {_type(schema['items'])}")
    if isinstance(values := schema.get("additionalProperties"), Mapping):
        words.append(f"of {_type(values)}")
    words += [f"{says} {schema[bound]:,}" for bound, says in _BOUNDS.items() if bound in schema]
    return ", ".join(words).replace(", of ", " of ")


_BOUNDS = {
    "minLength": "at least",
    "maxLength": "at most",
    "minItems": "at least",
    "maxItems": "at most",
    "maxProperties": "at most",
    "minimum": "from",
    "maximum": "to",
}


def _resolved(value: Json, components: Json) -> Json:
    if "$ref" not in value:
        return value
    _, kind, name = value["$ref"].rsplit("/", 2)
    found: Json = components[kind][name]
    return found


def _prose(text: str) -> str:
    """Render the small markup of the document.

    It has paragraphs, lists and code.
    """
    return "".join(map(_paragraph, filter(None, text.split("\n\n"))))


def _paragraph(text: str) -> str:
    if text.startswith("- "):
        return _list(map(_prose_inline, text.removeprefix("- ").split("\n- ")))
    return f"<p>{_prose_inline(text)}</p>"


def _prose_inline(text: str) -> str:
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text, quote=False))


def _list(items: Iterable[str]) -> str:
    lines = "".join(f"<li>{item}</li>" for item in items)
    return f"<ul>{lines}</ul>" if lines else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Render a table of HTML cells."""
    lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    titles = "".join(f"<th>{title}</th>" for title in head)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table>" if lines else ""


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def _pretty(value: object) -> str:
    return escape(json.format(json.encode(value), indent=2).decode(), quote=False)


# Clients list a few codings. A longer header is not parsed, and the document is sent uncompressed.
_LONGEST_HEADER = 1024
_HEADERS: Headers = (
    (b"vary", b"accept-encoding"),
    # Caches must revalidate: the document changes with the version and the settings.
    (b"cache-control", b"no-cache"),
)


@dataclass(frozen=True, slots=True)
class _Form:
    """The document in one coding, with its responses."""

    etag: bytes
    whole: Answer
    unchanged: Answer


class Published:
    """A document that is built on its first request, and cached.

    A thread builds both forms. Most processes never send it, and building it takes 30 ms, for which the event loop must
    not stop.
    """

    def __init__(self, build: Callable[[], bytes], content_type: bytes, headers: Headers = ()) -> None:
        self._build = build
        self._content_type = content_type
        self._headers = headers
        self._forms: tuple[_Form, ...] = ()
        self._building = asyncio.Lock()

    async def answer(self, headers: Sequence[tuple[bytes, bytes]]) -> Answer:
        """Choose the form by the headers of a call.

        Returns 304 if the client has that form.
        """
        if not self._forms:
            async with self._building:
                # Another call may have built it.
                self._forms = self._forms or await asyncio.to_thread(self._make)
        plain, compressed = self._forms
        form = compressed if accepts_gzip(_value(headers, b"accept-encoding")) else plain
        return form.unchanged if _names(_value(headers, b"if-none-match"), form.etag) else form.whole

    def _make(self) -> tuple[_Form, ...]:
        body = self._build()
        digest = sha256(body).hexdigest()[:32].encode("ascii")
        # Without the time, all processes send the same bytes.
        compressed = gzip.compress(body, compresslevel=9, mtime=0)
        return (
            self._form(body, b'"%b"' % digest, ()),
            self._form(compressed, b'"%b-gzip"' % digest, ((b"content-encoding", b"gzip"),)),
        )

    def _form(self, body: bytes, etag: bytes, coding: Headers) -> _Form:
        headers = ((b"etag", etag), *_HEADERS)
        whole = Answer(200, body, (*headers, *coding, *self._headers), self._content_type)
        return _Form(etag, whole, Answer(304, b"", headers))


def accepts_gzip(value: str) -> bool:
    """Whether an Accept-Encoding header allows gzip (RFC 9110, 12.5.3)."""
    if len(value) > _LONGEST_HEADER:
        return False
    qualities = dict(map(_coding, value.lower().split(",")))
    return qualities.get("gzip", qualities.get("x-gzip", qualities.get("*", 0.0))) > 0


def _coding(text: str) -> tuple[str, float]:
    name, *parameters = (part.strip() for part in text.split(";"))
    quality = next((each[2:] for each in parameters if each.startswith("q=")), "1")
    try:
        return name, float(quality)
    except ValueError:
        return name, 0.0


def _value(headers: Sequence[tuple[bytes, bytes]], wanted: bytes) -> str:
    """Join the lines of one header (RFC 9110, 5.3)."""
    return ",".join(value.decode("latin-1") for name, value in headers if name == wanted)


def _names(if_none_match: str, etag: bytes) -> bool:
    """Whether If-None-Match names the ETag. The comparison is weak (RFC 9110, 13.1.2)."""
    tags = {tag.strip().removeprefix("W/") for tag in if_none_match[:_LONGEST_HEADER].split(",")}
    return "*" in tags or etag.decode("ascii") in tags
