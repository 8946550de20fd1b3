# SPDX-License-Identifier: Apache-2.0
"""Hooks of Schemathesis: unusual texts in all bodies, and a check that the database returns them as they were sent."""

import json
import os
import random
import re
from hashlib import sha256
from pathlib import Path

import requests
import schemathesis

# Texts that databases and encoders get wrong: combining, right to left, beyond 16 bits, or longer in lower case.
GOOD = (
    "Проект Ω",
    "東京\u3000会議室",
    "שלום\u200f!",
    "مشـــروع",
    "परि\u094dयो\u200dजना",
    "한\u1112\u1161\u11ab",
    "ก็ำ",
    "e\u0301\u0323\u0301",
    "İSPARTA ﬃ ß",
    "𠀀𐐀𞤀",
    "👩\u200d👩\u200d👧\ufe0f",
    "\ufffe\uffff\U0010ffff",
    "a\u2028b\u2029c",
    "'; -- \\u0000 %s {input} \\",
)
BAD = ("\x00", "a\x1b[0m", "\x7f", "\x85", "a\ud800", "a\u202e", "a\u2066b", "\u200b", "\ufeff", "")
TEXTS = frozenset(
    (
        "displayName", "name", "description", "notes", "reason", "comment", "automaticReply", "city", "state",
        "streetAddress", "companyName", "department", "label", "value",
    )
)  # fmt: skip
# Each names an object of the directory, or fits another type only. Chance would have nearly all bodies refused.
LEFT_OUT = frozenset(
    (
        "owners", "members", "permissions", "primaryOwner", "secondaryOwner", "labelId", "memberShipType", "domain",
        "alias", "autoMapping",
    )
)  # fmt: skip
TEMPLATES = {"/collab/v1/groups/": os.environ["GROUP_TEMPLATE"], "/mail/v1/mailboxes/": os.environ["ROOM_TEMPLATE"]}
COMPARED = Path(os.environ["COMPARED"])
ID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


@schemathesis.hook
def map_body(context: schemathesis.HookContext, body: object) -> object:
    """Put unusual texts into a body, and bad ones into about every fifth."""
    if not isinstance(body, dict):
        return body
    digest = sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    # The same body has to get the same texts each time: Hypothesis repeats and shrinks it.
    chance = random.Random(digest)  # noqa: S311  Texts are no secrets.
    text = "".join(chance.choices(GOOD, k=chance.randint(1, 3)))
    if chance.random() < 0.2:
        text = chance.choice((text, "")) + chance.choice(BAD)
    made = replaced(body, text)
    path = context.operation.path
    if path in TEMPLATES:
        made = {name: value for name, value in made.items() if name not in LEFT_OUT}
        made |= {"templateId": TEMPLATES[path], "metadata": {chance.choice(GOOD): text, digest[:8]: text}}
        if "name" in made:
            # Names are given once.
            made["name"] = f"{digest[:8]} {text}"
    return made


def replaced(value: object, text: str) -> object:
    """Replace all texts for people."""
    if isinstance(value, dict):
        return {
            name: text if name in TEXTS and isinstance(each, str) else replaced(each, text)
            for name, each in value.items()
        }
    return [replaced(each, text) for each in value] if isinstance(value, list) else value


@schemathesis.check
def texts_come_back(_: schemathesis.CheckContext, response: schemathesis.Response, case: schemathesis.Case) -> None:
    """Read what was stored again, from the database."""
    if response.status_code not in {201, 202} or case.method != "POST":
        return
    # A replayed response is that of an earlier call. Another call may have changed the object since.
    if "idempotency-replayed" in response.headers:
        return
    sent = json.loads(response.request.body or b"{}")
    headers = {"Authorization": response.request.headers["Authorization"]}
    own = "/".join(response.request.url.split("/")[:3])
    for header in ("operation-location", "location"):
        for url in response.headers.get(header, []):
            if url.startswith(own):
                found = requests.get(url, headers=headers, timeout=10).json()
                compare(sent, found.get("body", found), case.path)


def compare(sent: object, found: object, path: str) -> None:
    """Compare the texts of all members that both have, and note them with the path of the call."""
    if isinstance(sent, dict) and isinstance(found, dict):
        for name in (sent.keys() & found.keys()) - {"webhook"}:
            compare(sent[name], found[name], path)
    elif isinstance(sent, list) and isinstance(found, list):
        for one, other in zip(sent, found, strict=False):
            compare(one, other, path)
    elif isinstance(sent, str) and not ID.fullmatch(sent):
        assert sent == found, f"{sent!a} came back as {found!a}"
        with COMPARED.open("a", encoding="utf-8") as file:
            file.write(f"{path} {sent!a}\n")
