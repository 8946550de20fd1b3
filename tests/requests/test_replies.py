# SPDX-License-Identifier: Apache-2.0
"""Replies to approval mails: tokens, and the decision in a raw mail."""

import hashlib
from dataclasses import replace
from email.message import EmailMessage
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chamberlain.core.errors import NotPossible
from chamberlain.core.ids import RequestId, TenantId, UserId
from chamberlain.requests.replies import LONGEST_MAIL, Asking, ReplyTokens, parse_reply, require_sender
from chamberlain.secrets.keyring import Keyring

TENANT = TenantId(UUID(int=1))
ASKING = Asking(TENANT, RequestId(UUID(int=2)), 3, UserId(UUID(int=4)))
KEYS = {"old": bytes(32), "new": bytes([1]) * 32}


def tokens(*names: str) -> ReplyTokens:
    """Tokens by these keys, the first of which signs."""
    keyring = Keyring(names[0], {name: KEYS[name] for name in names})
    return ReplyTokens(keyring.sign, keyring.is_signed)


TOKEN = tokens("old").sign(ASKING)


def mail(text: str, *, sender: str = "Dara <Dara@Estate.example>", headers: tuple[tuple[str, str], ...] = ()) -> bytes:
    """A raw reply with this text."""
    lines = [f"From: {sender}", "To: approvals@estate.example", "Subject: Re: Your approval is needed"]
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join([*lines, "", *text.splitlines(), ""]).encode()


def quoted(answer: str) -> str:
    """An answer above the quoted approval mail."""
    return f"{answer}\n\nOn Friday, Chamberlain wrote:\n> Please approve or reject it.\n> Reply code: {TOKEN}\n"


def fault_of(raw: bytes) -> str:
    """The reason why a mail decides nothing."""
    with pytest.raises(NotPossible) as caught:
        parse_reply(raw)
    (fault,) = caught.value.faults
    assert fault.pointer == "/mail"
    return fault.code


def test_it_works() -> None:
    reply = parse_reply(mail(quoted("approve")))

    assert (reply.sender, reply.action, reply.reason) == ("dara@estate.example", "approve", None)
    assert tokens("old").read(reply.token, TENANT) == ASKING


@pytest.mark.parametrize(
    ("answer", "action", "reason"),
    [
        ("Approve", "approve", None),
        ("\n\n  APPROVED. ", "approve", None),
        ("genehmigen", "approve", None),
        ("reject: There is such a team already", "reject", "There is such a team already"),
        ("Reject:too many\nof them", "reject", "too many of them"),
        ("ablehnen: Gibt es schon.", "reject", "Gibt es schon."),
        ("reject:\nNo room.\n--\nDara Lindqvist", "reject", "No room."),
        ("reject: a\u202eb\x07", "reject", "ab"),
    ],
)
def test_it_reads_the_first_line(answer: str, action: str, reason: str | None) -> None:
    reply = parse_reply(mail(quoted(answer), headers=(("Content-Type", "text/plain; charset=utf-8"),)))

    assert (reply.action, reply.reason) == (action, reason)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "I do not approve",
        "approve?",
        "approve this",
        "not approve",
        "reject",
        "reject:",
        "reject: \n\nreason below",
        "Thank you.\napprove",
        "> approve",
    ],
)
def test_it_refuses_an_unclear_answer(answer: str) -> None:
    assert fault_of(mail(quoted(answer))) == "replyUnclear"


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        pytest.param(mail("approve"), "replyWithoutToken", id="no quote"),
        pytest.param(mail(quoted("approve").replace(TOKEN, TOKEN[:-1])), "replyWithoutToken", id="cut off"),
        pytest.param(
            mail(quoted("approve") + tokens("old").sign(replace(ASKING, level=1))), "replyWithoutToken", id="two tokens"
        ),
        pytest.param(
            mail(quoted("approve"), headers=(("Auto-Submitted", "auto-replied"),)), "replyAutomatic", id="automatic"
        ),
        pytest.param(
            mail(quoted("approve"), headers=(("From", "eve@estate.example"),)), "replySenderDiffers", id="two headers"
        ),
        pytest.param(
            mail(quoted("approve"), sender="dara@estate.example, eve@estate.example"),
            "replySenderDiffers",
            id="two senders",
        ),
        pytest.param(mail(quoted("approve"), sender=""), "replySenderDiffers", id="no sender"),
        pytest.param(b"", "replySenderDiffers", id="an empty mail"),
        pytest.param(b"\x00\xff" * 100, "replySenderDiffers", id="no mail"),
    ],
)
def test_it_refuses_a_mail(raw: bytes, code: str) -> None:
    assert fault_of(raw) == code


@pytest.mark.parametrize(
    "sender",
    [
        "dara@estate.example",
        "<dara@estate.example>",
        "DARA@Estate.Example",
        "Dara Lindqvist <dara@estate.example>",
        '"Lindqvist, Dara \\"D\\" (IT) <x>" <dara@estate.example>',
        '"dara@estate.example" <dara@estate.example>',
        "=?utf-8?q?D=C3=A4ra?= <dara@estate.example>",
        "Dara\r\n <dara@estate.example>",
        "Dara (Estate) <dara@estate.example>",
    ],
)
def test_it_reads_a_sender(sender: str) -> None:
    assert parse_reply(mail(quoted("approve"), sender=sender)).sender == "dara@estate.example"


@pytest.mark.parametrize(
    "sender",
    [
        "dara@estate.example <eve@evil.example>",
        "<dara@estate.example> <eve@evil.example>",
        "<eve@evil.example>, <dara@estate.example>",
        "Board: dara@estate.example;",
        "<@evil.example:dara@estate.example>",
        "dara@estate.example (eve@evil.example)",
        "eve@evil.example\\ <dara@estate.example>",
        '"dara <dara@estate.example>',
        "dara @estate.example",
        '"dara"@estate.example',
        "dara@estate.example\r\n eve@evil.example",
        "=?utf-8?q?dara=40estate.example?=",
        "Dara",
        "<>",
    ],
)
def test_it_refuses_a_sender_that_a_mail_server_may_read_in_another_way(sender: str) -> None:
    assert fault_of(mail(quoted("approve"), sender=sender)) == "replySenderDiffers"


def test_it_reads_a_mail_of_the_local_delivery_of_a_mail_server() -> None:
    raw = b"From eve@evil.example  Fri Nov 27 09:30:00 2026\n" + mail(quoted("approve")).replace(b"\r\n", b"\n")

    assert parse_reply(raw).sender == "dara@estate.example"


@pytest.mark.parametrize(
    ("html", "action", "reason"),
    [
        ("<p>approve</p>", "approve", None),
        ("<html><head><TITLE>reject: x</TITLE></head><body><div>approve<br></div>", "approve", None),
        ("<style>p { } <b></STYLE><!-- reject: x --><![if !mso]>approve<![endif]>", "approve", None),
        ('<p title="> reject: x" lang=en>approve</p>', "approve", None),
        ("<p>reject: R&amp;D has\none <b>already</b></p><p>Dara</p>", "reject", "R&D has one already"),
        ("<p>reject: a&#10;b</p><br><br>below", "reject", "a b"),
        ("3 < 4<br>", None, None),
        ("<script>approve</script>", None, None),
        ("<p>reject: no<br>room</p>", "reject", "no room"),
        ("<p title='>approve</p>", None, None),
    ],
)
def test_it_reads_the_first_line_of_html(html: str, action: str | None, reason: str | None) -> None:
    raw = mail(f"{html}<blockquote>{TOKEN}</blockquote>", headers=(("Content-Type", "text/html; charset=utf-8"),))

    if action is None:
        assert fault_of(raw) in {"replyUnclear", "replyWithoutToken"}
    else:
        reply = parse_reply(raw)
        assert (reply.action, reply.reason) == (action, reason)


def test_it_reads_html_alone() -> None:
    html = f"<html><head><style>p {{}}</style></head><body><div>approve</div><blockquote>{TOKEN}</blockquote></body>"
    content = EmailMessage()
    content["From"] = "dara@estate.example"
    content.set_content(html, subtype="html", cte="quoted-printable")

    assert parse_reply(content.as_bytes()).action == "approve"


def test_it_reads_the_plain_part_of_several() -> None:
    content = EmailMessage()
    content["From"] = "dara@estate.example"
    content.set_content(quoted("reject: über dem Budget"), cte="base64")
    content.add_alternative(f"<p>approve</p>{TOKEN}", subtype="html")
    content.add_attachment(b"approve", maintype="text", subtype="plain", filename="approve.txt")

    reply = parse_reply(content.as_bytes())

    assert (reply.action, reply.reason) == ("reject", "über dem Budget")


def test_an_attached_mail_decides_nothing() -> None:
    attached = EmailMessage()
    attached["From"] = "eve@estate.example"
    attached.set_content(quoted("approve"))
    content = EmailMessage()
    content["From"] = "dara@estate.example"
    content.set_content("<p>reject: Do you know of this?</p>", subtype="html")
    content.add_attachment(attached)

    assert fault_of(content.as_bytes()) == "replyWithoutToken"


def test_a_later_text_decides_nothing() -> None:
    content = EmailMessage()
    content["From"] = "dara@estate.example"
    content.set_content(f"<p>reject: no</p>{TOKEN}", subtype="html")
    content.add_attachment("approve\n", disposition="inline")

    assert parse_reply(content.as_bytes()).action == "reject"


def repeated(text: str, headers: str = "") -> bytes:
    """A mail of HTML that repeats a text up to the limit."""
    head = f"From: dara@estate.example\r\n{headers}Content-Type: text/html\r\n\r\n{TOKEN}"
    return (head + text * (LONGEST_MAIL // len(text))).encode()[:LONGEST_MAIL]


# Without the limits of the parser, the slowest of these mails takes minutes.
@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "raw",
    [
        *[repeated(text) for text in ("<", "<!--", "<!", "<![", "<a ", "</", "<a x='", "<script>", "&#", "<br>")],
        mail(";" * LONGEST_MAIL),
        mail("", headers=(("Content-Type", 'text/plain; charset="' + ";" * LONGEST_MAIL),)),
        mail("", headers=(("Content-Type", "text/plain" + "\r\n ;a=b" * (LONGEST_MAIL // 8)),)),
        mail("", sender="(" * LONGEST_MAIL),
        mail("", sender='"<' * (LONGEST_MAIL // 2)),
        mail("a" * 100_000 + "-" + "aa" * 20_000, headers=(("Content-Type", "text/plain; charset=punycode"),)),
        mail("reject" + " " * LONGEST_MAIL),
        mail("--a\r\n\r\n" * (LONGEST_MAIL // 7), headers=(("Content-Type", "multipart/mixed; boundary=a"),)),
    ],
    ids=lambda raw: hashlib.sha256(raw).hexdigest()[:8],
)
def test_it_refuses_a_hostile_mail_in_time(raw: bytes) -> None:
    with pytest.raises(NotPossible):
        parse_reply(raw)


def test_it_reads_the_beginning_of_a_long_mail() -> None:
    content = EmailMessage()
    content["From"] = "dara@estate.example"
    content.set_content(quoted("approve"))
    content.add_attachment(bytes(LONGEST_MAIL * 2), maintype="application", subtype="pdf", filename="a.pdf")

    assert parse_reply(content.as_bytes()[:LONGEST_MAIL]).action == "approve"


def test_it_survives_deep_nesting() -> None:
    lines = ["From: dara@estate.example"]
    for number in range(5_000):
        lines += [f'Content-Type: multipart/mixed; boundary="{number}"', "", f"--{number}"]
    raw = "\r\n".join(lines).encode()

    assert fault_of(raw) in {"replyUnreadable", "replyWithoutToken"}


@pytest.mark.parametrize("charset", ["utf-8", "latin-1", "unknown-8bit", "none-such", '"'])
def test_it_survives_any_charset(charset: str) -> None:
    raw = mail(quoted("approve"), headers=(("Content-Type", f"text/plain; charset={charset}"),))

    assert parse_reply(raw).action == "approve"


def test_it_refuses_a_text_in_another_charset_than_it_says() -> None:
    raw = mail(quoted("approve"), headers=(("Content-Type", "text/plain; charset=utf-16"),))

    assert fault_of(raw) == "replyWithoutToken"


@given(st.binary(max_size=400))
def test_it_refuses_any_bytes(raw: bytes) -> None:
    with pytest.raises(NotPossible):
        parse_reply(b"From: dara@estate.example\r\n" + raw)


def test_a_token_is_the_same_for_each_retry_and_fits_into_a_line() -> None:
    assert tokens("old").sign(ASKING) == TOKEN
    assert len(TOKEN) == 70


def test_any_key_of_the_file_verifies_a_token() -> None:
    assert tokens("new", "old").read(TOKEN, TENANT) == ASKING
    assert tokens("new", "old").sign(ASKING) != TOKEN


@pytest.mark.parametrize("place", range(4, 69))
def test_it_refuses_a_changed_token(place: int) -> None:
    changed = TOKEN[:place] + ("A" if TOKEN[place] != "A" else "B") + TOKEN[place + 1 :]

    with pytest.raises(NotPossible) as caught:
        tokens("old").read(changed, TENANT)

    assert [fault.code for fault in caught.value.faults] == ["replyTokenInvalid"]


@pytest.mark.parametrize("token", ["CR1.", "CR1.A", "CR1.AAAA", "", f"{TOKEN}AAAA"])
def test_it_refuses_a_token_of_another_length(token: str) -> None:
    with pytest.raises(NotPossible) as caught:
        tokens("old").read(token, TENANT)

    assert [fault.code for fault in caught.value.faults] == ["replyTokenInvalid"]


def test_it_refuses_the_token_of_another_tenant_and_of_a_key_that_is_gone() -> None:
    with pytest.raises(NotPossible):
        tokens("old").read(TOKEN, TenantId(UUID(int=9)))
    with pytest.raises(NotPossible):
        tokens("new").read(TOKEN, TENANT)


@pytest.mark.parametrize("address", [None, "eve@estate.example", "dara@estate.example.evil", "dara+x@estate.example"])
def test_it_refuses_another_sender(address: str | None) -> None:
    reply = parse_reply(mail(quoted("approve")))

    with pytest.raises(NotPossible) as caught:
        require_sender(reply, address)

    assert [fault.code for fault in caught.value.faults] == ["replySenderDiffers"]
    require_sender(reply, "DARA@estate.example")
