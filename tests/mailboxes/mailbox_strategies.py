# SPDX-License-Identifier: Apache-2.0
"""Bodies of mailboxes by chance: such as must be accepted, and such as may not be, for Hypothesis."""

from collections.abc import Mapping
from itertools import count
from typing import cast

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from chamberlain.core.text import is_blank
from chamberlain.templates.rules import LOCAL_PART_LENGTH, local_part
from tests.estates import ADA, BEN, CLEO, DARA, NOBODY, PROJECT_GROUP, ROOM_MAILBOX, SHARED_MAILBOX

Body = dict[str, object]

# Names are taken for good: those of one example must not conflict with the next.
NUMBERS = count(1)
# The effects of letters, marks and signs in names: grow when they are folded, combine, go right to left, come in pairs.
SIGNS = "aZ09 .-_'\"\\/<>%\u00a0\u00df\u00e9\u0130\u0301\u200d\u2028\u3000\ufb03\ufdfa\ufeff\ufffe\U0001f600\U0010ffff"
DIRECTIONS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
CHARACTERS = st.sampled_from(SIGNS) | st.characters(exclude_categories=["Cc", "Cs"], exclude_characters=DIRECTIONS)
PEOPLE = [str(user) for user in (ADA, BEN, CLEO, DARA)]
LINES = (
    "streetAddress", "companyName", "postalCode", "city", "country", "phone", "department", "audioDeviceName",
    "displayDeviceName", "videoDeviceName",
)  # fmt: skip
DOMAINS = ["estate.example", "rooms.estate.example", "ROOMS.Estate.Example"]


def line(most: int, *, least: int = 0, also: str = "") -> SearchStrategy[str]:
    """Text of one line, often as long as it may be."""
    characters = CHARACTERS | st.sampled_from(also) if also else CHARACTERS
    return st.text(characters, min_size=least, max_size=min(most, 12)) | st.builds(
        lambda text, sign: (text + sign * most)[:most], st.text(characters, max_size=5), characters
    )


def lines(most: int) -> SearchStrategy[str]:
    """Text with line breaks and tabs."""
    return line(most, also="\t\r\n")


def cased(ids: SearchStrategy[str]) -> SearchStrategy[str]:
    """Ids in either letter case."""
    return st.builds(lambda id_, loud: id_.upper() if loud else id_, ids, st.booleans())


def whole(most: int) -> SearchStrategy[float]:
    """Whole numbers, with a point or without."""
    numbers = st.integers(0, most) | st.sampled_from([0, 1, most - 1, most])
    return numbers | numbers.map(float) | st.just(-0.0)


def within(bytes_: int, texts: SearchStrategy[str]) -> SearchStrategy[str]:
    """Texts of at most so many bytes."""
    return texts.map(lambda text: text.encode()[:bytes_].decode(errors="ignore"))


IDS = cased(st.sampled_from(PEOPLE))
LEVELS = st.sampled_from(["None", "SendAs", "FullAccess"])
PERMISSIONS = st.dictionaries(st.sampled_from(PEOPLE), st.tuples(LEVELS, st.booleans())).map(
    lambda levels: {user.upper() if loud else user: level for user, (level, loud) in levels.items()}
)
METADATA = st.dictionaries(line(128, least=1).filter(len), line(1024) | st.booleans(), max_size=3) | st.just(
    {str(number): "x" * 240 for number in range(64)}
)
EVERYBODYS: Mapping[str, SearchStrategy[object]] = {
    **dict.fromkeys(LINES, line(256)),
    "permissions": PERMISSIONS,
    "metadata": METADATA,
    "capacity": whole(2**31 - 1),
    "state": line(64),
    "domain": st.sampled_from(DOMAINS),
    "businessPhones": st.lists(line(256), max_size=10),
    "primaryOwner": IDS,
    "secondaryOwner": IDS,
    "automaticReply": within(8192, lines(8192)),
    "isAllowAutomaticReplyOverride": st.booleans(),
    "hideFromGAL": st.booleans(),
    "tags": st.lists(line(64, least=1), max_size=32),
    "notes": lines(4096),
    "reason": line(1024),
}
FLAGS = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(("hasConferencePhone", "hasWhiteboard", "hasVideoConferencing"), st.booleans() | st.none()),
)
OWN: Mapping[str, Mapping[str, SearchStrategy[object]]] = {
    "shared": {
        "autoMapping": st.booleans(),
        "alias": st.from_regex(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,19}(\.[A-Za-z0-9]{1,18}){0,2}", fullmatch=True)
        | st.sampled_from("A-~").map(lambda sign: sign * 57),
    },
    "equipment": {},
    "room": {"officeLocation": line(256), "isWheelChairAccessible": st.booleans(), "roomMailboxMetadata": FLAGS},
}
# The properties that show the type of a body without a template.
MARKS: Mapping[str, Body] = {
    "shared": {"autoMapping": True},
    "equipment": {"metadata": {"equipmentType": "projector"}},
    "room": {"roomMailboxMetadata": {"hasWhiteboard": None}},
}
KINDS = tuple(OWN)


@st.composite
def good_bodies(draw: st.DrawFn, kind: str, template: str) -> Body:
    """Valid bodies of one type. About every other one leaves the template to its marks."""
    own = {**EVERYBODYS, **OWN[kind]}
    body: Body = draw(st.fixed_dictionaries({}, optional={name: values | st.none() for name, values in own.items()}))
    body["name"] = draw(names())
    body["displayName"] = draw(line(256, least=1).filter(lambda text: not is_blank(text)))
    if draw(st.booleans()):
        body["templateId"] = draw(cased(st.just(template)))
    else:
        body |= MARKS[kind]
    if body.get("alias") is not None:
        body["alias"] = f"{next(NUMBERS):06}-{body['alias']}"
    return body


@st.composite
def names(draw: st.DrawFn) -> str:
    """Unused names of which an address can be made."""
    text = draw(line(64).filter(lambda each: "@" not in each))
    number = f"{next(NUMBERS):06}-"
    name = f"{number}{text}"[:64]
    # One sign of a name may be many letters in its address.
    return name if len(local_part(name) or "") <= LOCAL_PART_LENGTH else number


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | line(300, also="@\0\n\x7f") | IDS
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(line(129, also="@\0"), inner, max_size=3),
    max_leaves=5,
)
BEYOND: Mapping[str, SearchStrategy[object]] = {
    "name": line(65, least=1),
    "displayName": st.sampled_from(["", " ", "\u3000", "x" * 257]),
    "capacity": st.sampled_from([-1, 2**31, 2**63, 2**64, 1.5, 1e300, "12", True]),
    "tags": st.just(["x"] * 33),
    "businessPhones": st.just(["1"] * 11),
    "automaticReply": st.just("\u00e9" * 4097),
    "permissions": st.dictionaries(IDS | line(40), LEVELS | SCALARS, max_size=5),
    "metadata": st.dictionaries(line(130), line(1025) | SCALARS, max_size=5),
    "primaryOwner": st.uuids().map(str),
    "alias": line(65, least=1),
    "domain": line(256, also=DIRECTIONS) | st.just("other.example"),
    # Of another type, mostly.
    "officeLocation": line(256),
    "isWheelChairAccessible": st.booleans(),
    "autoMapping": st.booleans(),
    "roomMailboxMetadata": FLAGS,
    "templateId": st.sampled_from([str(PROJECT_GROUP), str(SHARED_MAILBOX), str(ROOM_MAILBOX), str(NOBODY)]),
}


@st.composite
def changed_bodies(draw: st.DrawFn, kind: str, template: str) -> Body:
    """The same with some properties of another value, of another type, or of another name."""
    body = draw(good_bodies(kind, template))
    for name in draw(st.sets(st.sampled_from([*EVERYBODYS, *OWN["shared"], *OWN["room"], "hideFromGal"]), max_size=2)):
        body[name] = draw(ANYTHING)
    for name in draw(st.sets(st.sampled_from(list(BEYOND)), max_size=2)):
        body[name] = draw(BEYOND[name])
    return body


def said(body: Mapping[str, object]) -> Body:
    """An accepted body as it is read back: null is not sent, ids are in lower case."""
    found = {name: value for name, value in body.items() if value is not None}
    for name in {"templateId", "primaryOwner", "secondaryOwner"} & found.keys():
        found[name] = str(found[name]).lower()
    if "permissions" in found:
        levels = cast("Body", found["permissions"])
        found["permissions"] = {user.lower(): level for user, level in levels.items()}
    if "roomMailboxMetadata" in found:
        flags = cast("Body", found["roomMailboxMetadata"])
        found["roomMailboxMetadata"] = {name: flag for name, flag in flags.items() if flag is not None}
    return found
