# SPDX-License-Identifier: Apache-2.0
"""Render the OpenAPI document as pages of HTML.

There is an overview, one page for each noun, and one of all errors.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from html import escape
from typing import Any, Final

from msgspec import json

from chamberlain.http.html import BRAND, block, code, items, page, prose, prose_inline, table
from chamberlain.http.samples import body_of, samples_of, value_of, variables_of

# Content types of responses other than problems.
_SHOWN = ("application/json", "application/x-ndjson", "text/event-stream")
_PROBLEM = "application/problem+json"
_SCHEMAS = "#/components/schemas/"
# A JSON value as the OpenAPI document has it.
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Noun:
    """A page of operations, whose paths match one of these patterns."""

    slug: str
    title: str
    patterns: tuple[str, ...]
    lead: str


# fmt: off
# An operation belongs to the first noun that its path matches.
NOUNS: Final = (
    Noun("groups", "Groups and teams", ("/collab/v1/*",),
         "Request groups and teams by the templates that you may use."),
    Noun("mailboxes", "Mailboxes", ("/mail/v1/*",),
         "Request and read shared mailboxes, rooms and equipment."),
    Noun("requests", "Requests", ("/requests/v1/*", "/me/v1/substitute/*"),
         "Follow a request, decide on it, cancel it or retry it."),
    Noun("people", "You and other people", ("/me/v1/*", "/directory/v1/*"),
         "Read how the service knows you, and find people for a request."),
    Noun("webhooks", "Webhooks", ("*/webhook/*", "/admin/v1/deliveries/*"),
         "Test the webhooks of templates, rotate their secrets, and send deliveries again."),
    Noun("templates", "Templates", ("/admin/*/templates/*",),
         "Define which groups, teams, mailboxes and guest rules users can get."),
    Noun("guest-rules", "Guest rules", ("/admin/collab/v1/*",),
         "Assign guest templates and guest policies to groups and sites."),
    Noun("findings", "Findings and drift", ("/admin/v1/findings/*", "/admin/v1/drift/*"),
         "Decide on guests that break a rule, and on changes that others made in the directory."),
    Noun("adoptions", "Adoptions and releases", ("/admin/v1/adoptions/*", "/admin/v1/releases/*"),
         "Manage objects that already exist, and give objects back to the directory."),
    Noun("events", "Events and audit trail", ("/admin/v1/events/*", "/admin/v1/audit/*"),
         "Follow events as they happen, and read who changed what."),
    Noun("tenant", "Tenant and configuration", ("/admin/v1/tenant/*", "/admin/v1/configuration/*"),
         "Change the settings of the tenant, and apply configuration documents."),
    Noun("operation", "Health and operation", ("*",),
         "Read the health, held jobs, figures and the use of permissions."),
)
# fmt: on
ERRORS: Final = "errors"
# The pages below /docs.
SLUGS: Final = (*(noun.slug for noun in NOUNS), ERRORS)


def render(document: Json, slug: str = "") -> bytes:
    """Render one page, by default the overview."""
    reference = _Reference(document)
    if slug == ERRORS:
        return _frame(reference, slug, "Errors", _errors(reference))
    for noun in NOUNS:
        if noun.slug == slug:
            return _frame(reference, slug, noun.title, _noun(reference, noun))
    return _frame(reference, slug, "Chamberlain API", _overview(reference))


class _Operation:
    """An operation of the document with its noun."""

    def __init__(self, path: str, method: str, about: Json) -> None:
        self.path, self.method, self.about = path, method, about
        self.id: str = about["operationId"]
        self.noun = next(noun for noun in NOUNS if any(fnmatchcase(path, each) for each in noun.patterns))

    @property
    def verb(self) -> str:
        return f'<span class="method {self.method}">{self.method.upper()}</span>'


class _Reference:
    """The document, with its operations by noun."""

    def __init__(self, document: Json) -> None:
        self.document = document
        self.schemas: Json = document["components"]["schemas"]
        self.base_url: str = document["servers"][0]["url"]
        self.operations = [
            _Operation(path, method, about)
            for path, item in document["paths"].items()
            for method, about in item.items()
        ]

    @property
    def permission_prefix(self) -> str:
        """The beginning of all names of permissions, without the last slash."""
        create = next(each for each in self.operations if each.id == "createGroup")
        name: str = create.about["security"][0]["delegated"][0]
        return name.removesuffix("/collab/App.ReadWrite.All")

    def of(self, noun: Noun) -> Sequence[_Operation]:
        return [each for each in self.operations if each.noun is noun]


def _frame(reference: _Reference, slug: str, title: str, main: str) -> bytes:
    """Return a page with the side bar."""
    version = escape(reference.document["info"]["version"])
    head = '<script src="/assets/documentation.js" defer></script>\n'
    full = title if not slug else f"{title} - Chamberlain API"
    return page(
        full,
        f"""<body class="docs">
<a class="skip" href="#main">Skip to the content</a>
<header class="bar">{BRAND}<span class="soft">API {version}</span>
<button type="button" class="quiet menu" aria-expanded="false" aria-controls="side" hidden>Menu</button></header>
<div class="side" id="side">
<div class="search" role="search" hidden><label class="hidden" for="search">Search operations</label>
<input id="search" type="search" placeholder="Search operations" autocomplete="off">
<p class="soft" id="found" role="status"></p></div>
<nav aria-label="Pages">{_navigation(reference, slug)}</nav>
</div>
<main id="main" tabindex="-1">
{main}
</main>
</body>""",
        head=head,
    )


def _navigation(reference: _Reference, slug: str) -> str:
    def link(address: str, name: str, *, is_current: bool) -> str:
        return f'<a class="page" href="{address}"{_CURRENT if is_current else ""}>{name}</a>'

    pages = (
        link("/docs", "Overview", is_current=not slug)
        + link("/docs#token", "Get a token", is_current=False)
        + link("/docs/errors", "Errors", is_current=slug == ERRORS)
    )
    return pages + "".join(_nav_noun(reference, noun, is_current=noun.slug == slug) for noun in NOUNS)


_CURRENT = ' aria-current="page"'


def _nav_noun(reference: _Reference, noun: Noun, *, is_current: bool) -> str:
    links = items(
        f'<a href="/docs/{noun.slug}#{each.id}" data-words="{escape(each.id)} {escape(each.path)}">'
        f"{escape(each.about['summary'])}{each.verb}</a>"
        for each in reference.of(noun)
    )
    state = " open" if is_current else ""
    current = ' class="current"' if is_current else ""
    return f"<details{state}><summary{current}>{escape(noun.title)}</summary>{links}</details>"


def _overview(reference: _Reference) -> str:
    info = reference.document["info"]
    nouns = "".join(
        f'<a class="card" href="/docs/{noun.slug}"><b>{escape(noun.title)}</b><span>{escape(noun.lead)}</span></a>'
        for noun in NOUNS
    )
    headers = items(
        f"<p>{code(each['name'])}</p>{prose(each['description'])}"
        for each in reference.document["components"]["parameters"].values()
    )
    return f"""<h1>{escape(info["title"])}</h1>
<p class="lead">Request groups, teams and mailboxes, decide on requests, and administer templates and guest rules.
The <a href="/openapi.json">OpenAPI document</a> describes the same for programs.</p>
{_token(reference)}
{_first_call(reference)}
<section><h2>Operations</h2><div class="cards">{nouns}</div></section>
<section class="text" id="conventions"><h2>Conventions</h2>
<p>The base address is {" or ".join(code(server["url"]) for server in reference.document["servers"])}.</p>
<p>Permissions begin with {code(f"{reference.permission_prefix}/")}, which these pages leave out.</p>
{prose(info["description"])}
<h3>Headers of all calls</h3><div class="fields">{headers}</div></section>"""


def _token(reference: _Reference) -> str:
    """Explain how to get a token, before anything else."""
    scope = f"{reference.permission_prefix}/.default"
    user = f"export TOKEN=$(chamberlain token --user ada@estate.example \\\n  --scope {scope})"
    application = f"export TOKEN=$(chamberlain token --client automation \\\n  --scope {scope})"
    schemes = reference.document["components"]["securitySchemes"]
    addresses = {
        _ADDRESSES[key]: value
        for scheme in schemes.values()
        for flow in scheme.get("flows", {}).values()
        for key, value in flow.items()
        if key in _ADDRESSES
    }
    provider = table(("Endpoint", "Address"), ((name, code(address)) for name, address in addresses.items()))
    return f"""<section class="text" id="token"><h2>Get a token</h2>
<p>Every call needs a bearer token, except those of the health. On the machine of the service, with the sample data,
one command gets a token that is valid for 60 minutes:</p>
{_tabs("token", {"For a user": user, "For an application": application})}
<p>In a clone of the project, the command is <code>.venv/bin/chamberlain</code>. Ada is an administrator of the sample
data. Her token works for all samples of these pages.</p>
<p>With your own OpenID provider, use authorization code or device code for a user, and client credentials for an
application. {"This service has an identity platform of its own, for evaluation and tests:" if provider else ""}</p>
{provider}</section>"""


_ADDRESSES = {
    "authorizationUrl": "Authorization",
    "deviceAuthorizationUrl": "Device code",
    "tokenUrl": "Token",
}


def _first_call(reference: _Reference) -> str:
    first = next(each for each in reference.operations if each.id == "createGroup")
    samples = samples_of(first.about, first.method, first.path, reference.base_url)
    return f"""<section class="text"><h2>Make the first call</h2>
<p>Request a group. The answer comes when the request is stored. The
<a href="/docs/{first.noun.slug}#{first.id}">page of the operation</a> describes it, and sends it from the browser.</p>
{_tabs("first", samples)}</section>"""


def _errors(reference: _Reference) -> str:
    rows = "".join(
        f'<tr id="{name}"><td>{one["value"]["status"]}</td><td>{code(name)}</td><td>{escape(one["summary"])}</td></tr>'
        for name, one in reference.document["components"]["examples"].items()
    )
    example = reference.document["components"]["examples"]["invalidBody"]["value"]
    head = '<th scope="col">Status</th><th scope="col">Code</th><th scope="col">Meaning</th>'
    return f"""<h1>Errors</h1>
<p class="lead">An error is a problem document (RFC 9457). Programs decide by <code>code</code>, which is stable. The
sentence in <code>detail</code> says how to fix the error.</p>
<section class="text">{block(_pretty(example), "A problem document")}</section>
<section class="text"><h2>Codes</h2>
<table class="codes"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></section>
{_objects(reference, ["Problem"])}"""


def _noun(reference: _Reference, noun: Noun) -> str:
    operations = reference.of(noun)
    sections = "".join(_section(reference, each) for each in operations)
    names = sorted({name for each in operations for name in _references(_described(each.about))})
    lead = f'<h1>{escape(noun.title)}</h1><p class="lead">{escape(noun.lead)}</p>'
    return f"{lead}{sections}{_objects(reference, names)}"


def _described(about: Json) -> Json:
    """Leave the problems out, whose schema has a page of its own."""
    responses = {status: one for status, one in about["responses"].items() if _PROBLEM not in one.get("content", {})}
    return {**about, "responses": responses}


def _section(reference: _Reference, operation: _Operation) -> str:
    about = operation.about
    samples = samples_of(about, operation.method, operation.path, reference.base_url)
    missing = [name for name in ("Command line", "Python") if name not in samples]
    note = f'<p class="soft note">{_WITHOUT[tuple(missing)]}</p>' if missing else ""
    return f"""<section class="operation" id="{operation.id}">
<div class="about"><h2>{escape(about["summary"])}</h2>
<p class="route">{operation.verb}{code(operation.path)}</p>
{prose(about["description"].replace(f"{reference.permission_prefix}/", ""))}
{_parameters(about)}{_body(reference, about)}{_responses(about)}{_problems(about)}</div>
<div class="use">{_tabs(operation.id, samples)}{_variables(samples)}{note}{_example(about)}{_try(operation)}</div>
</section>"""


def _variables(samples: Mapping[str, str]) -> str:
    """Explain the variables of samples, such as REQUEST_ID."""
    return "".join(
        f'<p class="soft note">Set {code(name)} first, to the {_named(name)}.</p>' for name in variables_of(samples)
    )


def _named(variable: str) -> str:
    noun, _, id_ = variable.lower().partition("_")
    return f"id of the {noun}" if id_ else f"{noun} of the plan"


_WITHOUT = {
    ("Command line",): "The command line has no command for this operation.",
    ("Python",): "The SDK has no method for this operation.",
    ("Command line", "Python"): "Command line and SDK do not call this operation.",
}


def _tabs(name: str, samples: Mapping[str, str]) -> str:
    """Return samples of which one is shown.

    Radio buttons choose it, so that it works without scripts.
    """
    choices = "".join(
        f'<label><input type="radio" name="sample-{name}" value="{index}"{" checked" if index == 0 else ""}>'
        f"<span>{escape(language)}</span></label>"
        for index, language in enumerate(samples)
    )
    blocks = "".join(
        f'<div class="sample" data-choice="{index}">{block(text, f"{language}: {name}")}</div>'
        for index, (language, text) in enumerate(samples.items())
    )
    legend = '<legend class="hidden">Sample</legend>'
    return f'<fieldset class="samples">{legend}<div class="tabs">{choices}</div>{blocks}</fieldset>'


def _parameters(about: Json) -> str:
    """List the parameters of this operation.

    The overview has those of all calls.
    """
    rows = [
        _field(one["name"], f"{_PLACES[one['in']]}, {_type(one['schema'])}", one.get("description", ""), one)
        for one in about["parameters"]
        if "$ref" not in one
    ]
    return f"<h3>Parameters</h3>{_fields(rows)}" if rows else ""


_PLACES = {"path": "in the path", "query": "in the query", "header": "header"}


def _body(reference: _Reference, about: Json) -> str:
    contents = list(about.get("requestBody", {"content": {}})["content"].values())
    if not contents:
        return ""
    schema, note = contents[0]["schema"], about["requestBody"].get("description", "")
    name = schema.get("$ref", "").removeprefix(_SCHEMAS)
    listed = _properties(reference.schemas[name]) if name else f"<p>{_type(schema)}</p>"
    return f"<h3>Body</h3>{prose(note)}{listed}"


def _responses(about: Json) -> str:
    rows = [
        f"<p><b>{status}</b> {prose_inline(one['description'])} {_contents(one)}</p>{_headers(one)}"
        for status, one in sorted(about["responses"].items())
        if _PROBLEM not in one.get("content", {})
    ]
    return f"<h3>Answers</h3>{_fields(rows)}"


def _contents(response: Json) -> str:
    return "".join(_content(one) for kind, one in response.get("content", {}).items() if kind in _SHOWN)


def _content(content: Json) -> str:
    if "x-events" in content:
        return "Events: " + ", ".join(f"{code(name)} with {_type(data)}" for name, data in content["x-events"].items())
    if "x-line" in content:
        return f"As lines of JSON: {_type(content['x-line'])}."
    return _type(content["schema"])


def _headers(response: Json) -> str:
    return items(
        f"{code(name)}: {prose_inline(header['description'])}"
        for name, header in response.get("headers", {}).items()
        if "$ref" not in header
    )


def _problems(about: Json) -> str:
    """List the codes by status.

    One page has their meanings, which keeps this one small.
    """
    rows = [
        f"<b>{status}</b> {', '.join(map(_error, content['examples']))}"
        for status, response in sorted(about["responses"].items())
        if (content := response.get("content", {}).get(_PROBLEM)) is not None
    ]
    return f"<details><summary>Errors</summary>{items(rows)}</details>"


def _error(name: str) -> str:
    return f'<a href="/docs/errors#{name}">{code(name)}</a>'


def _example(about: Json) -> str:
    """Show the answer to the sample."""
    for status, response in sorted(about["responses"].items(), reverse=True):
        example = response.get("content", {}).get("application/json", {}).get("example")
        if example is not None and status.startswith("2"):
            label = f"Answer {status} of {about['operationId']}"
            return f"<details><summary>Answer {status}</summary>{block(_pretty(example), label)}</details>"
    return ""


def _try(operation: _Operation) -> str:
    """Return the form that sends a call. Its script shows it."""
    about = operation.about
    inputs = _input(operation, "Token", 'type="password" data-token') if about["security"] else ""
    for one in about["parameters"]:
        if "$ref" not in one:
            value = escape(value_of(about, one["name"]))
            inputs += _input(operation, one["name"], f'type="text" value="{value}" data-{one["in"]}="{one["name"]}"')
    if "requestBody" in about:
        inputs += _text_area(operation, body_of(about) or "")
    warning = "" if operation.method == "get" else '<p class="soft">It changes the data of this service.</p>'
    return f"""<details class="try" hidden><summary>Try it</summary>
<form data-method="{operation.method.upper()}" data-path="{escape(operation.path)}">{inputs}{warning}
<p class="buttons"><button type="submit">Send</button><button type="button" class="quiet" hidden>Stop</button></p>
<div role="status"></div>
<pre tabindex="0" role="region" aria-label="Answer to the call of {operation.id}" hidden><code></code></pre>
</form></details>"""


def _input(operation: _Operation, name: str, attributes: str) -> str:
    id_ = f"{operation.id}-{name}"
    label = f'<label for="{id_}">{escape(name)}</label>'
    return f'<p>{label}<input id="{id_}" autocomplete="off" spellcheck="false" {attributes}></p>'


def _text_area(operation: _Operation, body: str) -> str:
    id_ = f"{operation.id}-body"
    rows = min(14, body.count("\n") + 2)
    area = f'<textarea id="{id_}" data-body rows="{rows}" spellcheck="false">{escape(body)}</textarea>'
    return f'<p><label for="{id_}">Body</label>{area}</p>'


def _objects(reference: _Reference, names: Iterable[str]) -> str:
    """Describe schemas and all that they refer to."""
    found, ahead = set[str](), list(names)
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            ahead += _references(reference.schemas[name])
    sections = "".join(
        f'<details id="schema-{name}"><summary>{name}</summary>{prose(reference.schemas[name].get("description", ""))}'
        f"{_properties(reference.schemas[name])}</details>"
        for name in sorted(found)
    )
    return f'<section class="text objects" id="objects"><h2>Objects</h2>{sections}</section>' if sections else ""


def _references(part: object) -> Iterable[str]:
    if isinstance(part, Mapping):
        if isinstance(target := part.get("$ref"), str) and target.startswith(_SCHEMAS):
            yield target.removeprefix(_SCHEMAS)
        part = list(part.values())
    if isinstance(part, list):
        for each in part:
            yield from _references(each)


def _properties(schema: Json) -> str:
    if "properties" not in schema:
        return f"<p>{_type(schema)}</p>"
    required = schema.get("required", ())
    rows = [
        _field(name, _type(one), one.get("description", ""), {"required": name in required})
        for name, one in schema["properties"].items()
    ]
    return _fields(rows)


def _field(name: str, type_: str, description: str, one: Json) -> str:
    required = ' <span class="required">required</span>' if one.get("required") else ""
    return f'<p>{code(name)} <span class="soft">{type_}</span>{required}</p>{prose(description)}'


def _fields(rows: Iterable[str]) -> str:
    return f'<div class="fields">{items(rows)}</div>'


def _type(schema: Json) -> str:
    """Describe a schema briefly."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(_SCHEMAS)
        return f'<a href="#schema-{name}">{name}</a>'
    for alternatives in ("anyOf", "oneOf"):
        if alternatives in schema:
            return " or ".join(_type(one) for one in schema[alternatives])
    if "enum" in schema:
        return "one of " + ", ".join(code(str(value)) for value in schema["enum"])
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


def _pretty(value: object) -> str:
    return json.format(json.encode(value), indent=2).decode()
