# SPDX-License-Identifier: Apache-2.0
"""Take replies to approval mails: one from standard input, or those of a mailbox by IMAP.

A mail server runs it for each mail to the address of the replies. Its exit codes are those of sysexits.h: 75 keeps the
mail for a later attempt, and 65 returns it to its sender with the reason.
"""

import argparse
import configparser
import hashlib
import imaplib
import json
import re
import ssl
import sys
import urllib.parse
import urllib.request
from base64 import b64encode
from collections.abc import Mapping
from email import message_from_bytes
from pathlib import Path
from typing import Any

from chamberlain_client import Chamberlain, ChamberlainError
from chamberlain_client.errors import Refused

# The part of a mail that the service reads.
LONGEST_MAIL = 262_144
DATA_ERROR, TRY_AGAIN = 65, 75
# A reply that is refused with one of these decides nothing, however often it is sent.
FINAL = frozenset({"notPossible", "stateDoesNotAllow", "notApprover", "selfApproval", "notFound"})

Settings = Mapping[str, str]


def main() -> int:
    """Take one reply, or all unread ones of the mailbox."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("settings", type=Path, help="file with the settings")
    parser.add_argument("--imap", action="store_true", help="take the unread mails of the mailbox of the settings")
    options = parser.parse_args()
    try:
        # Values have no interpolation: a secret may have a percent sign.
        file = configparser.ConfigParser(interpolation=None)
        file.read_string(options.settings.read_text(encoding="utf-8"))
        settings = file["replies"]
        if options.imap:
            return take_from_mailbox(settings)
        return take(sys.stdin.buffer.read(), settings)
    except (OSError, KeyError, ValueError, configparser.Error, ChamberlainError, imaplib.IMAP4.error) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return TRY_AGAIN


def take(mail: bytes, settings: Settings) -> int:
    """Take one reply, and print why it decides nothing."""
    # The line that local delivery adds is not part of the mail.
    raw = re.sub(rb"\AFrom [^\r\n]*\r?\n", b"", mail)[:LONGEST_MAIL]
    if "verified_by" in settings and not is_verified(raw, settings["verified_by"]):
        print("The sender of this mail is not verified. It decides nothing.")
        return DATA_ERROR
    with Chamberlain(settings["server"], find_token(settings), verify=settings.get("ca", True)) as chamberlain:
        try:
            # After a lost response, the mail server sends the same mail again.
            decision = chamberlain.requests.reply(raw, idempotency_key=hashlib.sha256(raw).hexdigest())
        except Refused as error:
            if error.code not in FINAL:
                raise
            print(error.detail, *[fault.detail for fault in error.faults], sep="\n")
            return DATA_ERROR
    print(f"Request {decision.request_id}: {decision.outcome}", file=sys.stderr)
    return 0


def is_verified(raw: bytes, server: str) -> bool:
    """Return whether the first Authentication-Results (RFC 8601) is of this server, and has dmarc=pass.

    A sender can add more of them below it. Comments and quoted texts are those of the sender as well.
    """
    field = str(message_from_bytes(raw).get("Authentication-Results", ""))
    if "\\" in field or len(field) > 10_000:
        return False
    plain = re.sub(r'"[^"]*"', "", field)
    while plain != (inner := re.sub(r"\([^()]*\)", " ", plain)):
        plain = inner
    if re.search(r'[()"]', plain):
        return False
    name, *results = [" ".join(each.split()).lower() for each in plain.split(";")]
    verdicts = [each.split(" ")[0] for each in results if each.startswith("dmarc=")]
    return name.split(" ")[0] == server.lower() and verdicts == ["dmarc=pass"]


def find_token(settings: Settings) -> str:
    """Return a token of the application, from the settings or by its secret."""
    if "token" in settings:
        return settings["token"]
    body = urllib.parse.urlencode({"grant_type": "client_credentials", "scope": settings["scope"]}).encode()
    secret = b64encode(f"{settings['client_id']}:{settings['client_secret']}".encode()).decode("ascii")
    call = urllib.request.Request(settings["token_url"], body, {"Authorization": f"Basic {secret}"})  # noqa: S310 - the address is a setting.
    with urllib.request.urlopen(call, timeout=30) as answer:  # noqa: S310 - as above.
        document: dict[str, Any] = json.load(answer)
    return str(document["access_token"])


def take_from_mailbox(settings: Settings) -> int:
    """Take the unread mails of a mailbox by IMAP.

    A mail that decides nothing is flagged. One that cannot be taken now stays unread.
    """
    code = 0
    # Without a context the library does not verify the certificate.
    trust = ssl.create_default_context(cafile=settings.get("imap_ca"))
    port = int(settings.get("imap_port", "993"))
    with imaplib.IMAP4_SSL(settings["imap_host"], port, ssl_context=trust, timeout=60) as mailbox:
        mailbox.login(settings["imap_user"], settings["imap_password"])
        mailbox.select(settings.get("imap_folder", "INBOX"))
        _, (found,) = mailbox.uid("SEARCH", "UNSEEN", "UNFLAGGED")
        for uid in (found or b"").decode("ascii").split():
            # Reading by PEEK leaves the mail unread.
            _, parts = mailbox.uid("FETCH", uid, f"(BODY.PEEK[]<0.{LONGEST_MAIL}>)")
            raw = next((part[1] for part in parts if isinstance(part, tuple)), b"")
            try:
                taken = take(raw, settings)
            except (OSError, ChamberlainError) as error:
                print(f"{type(error).__name__}: {error}", file=sys.stderr)
                code = TRY_AGAIN
                continue
            mailbox.uid("STORE", uid, "+FLAGS", r"(\Seen)" if taken == 0 else r"(\Seen \Flagged)")
    return code


if __name__ == "__main__":
    sys.exit(main())
