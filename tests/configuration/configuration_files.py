# SPDX-License-Identifier: Apache-2.0
"""Configuration files by chance: two tenants with few things each, so that one after the other creates, changes and
removes."""

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from chamberlain.configuration.files import Configuration, ConfigurationFile, read_configurations
from chamberlain.configuration.yaml import write_document
from chamberlain.directory.properties import PROPERTIES, Treatment

Document = dict[str, object]

HOUSES = ("40c5e000-0000-4000-8000-000000000001", "40c5e000-0000-4000-8000-000000000002")
ROOMS = ("40c5e000-0000-4000-8000-000000000011", "40c5e000-0000-4000-8000-000000000012")
GROUP, GUEST = "40c5e000-0000-4000-8000-000000000013", "40c5e000-0000-4000-8000-000000000014"
POLICIES = ("40c5e000-0000-4000-8000-000000000021", "40c5e000-0000-4000-8000-000000000022")
PEOPLE = ("40c5e000-0000-4000-8000-0000000000a1", "40c5e000-0000-4000-8000-0000000000a2")

# Whatever a name can be, with what YAML could take for something else among it.
NAMES = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12) | st.sampled_from(
    ["null", "2026-11-20", "08001", "1e3", "yes", "- a: &b *c", "#", "'", "Ümlaut \U0001f600"]
)
DAYS = st.integers(1, 90)
TREATMENTS = [str(each) for each in Treatment]
REPAIRABLE = [str(name) for name, manner in PROPERTIES.items() if manner.is_repairable]
# The same for both houses: an issuer goes from one to the other, or both want it.
ISSUERS = st.lists(
    st.fixed_dictionaries(
        {"issuer": st.sampled_from(["https://one.example", "https://two.example/v2.0"])},
        optional={"tid": st.sampled_from(["t1", "t2"]), "audiences": st.just({"4f1c": "https://api.example"})},
    ),
    max_size=2,
    unique_by=lambda each: (each["issuer"], each.get("tid")),
)


def rarely(one: st.SearchStrategy[object], other: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """The first once in eight times."""
    return st.sampled_from([*[other] * 7, one]).flatmap(lambda chosen: chosen)


def some_of(each: Sequence[st.SearchStrategy[Document]]) -> st.SearchStrategy[list[Document]]:
    """Most of them, in any order."""
    chosen = st.tuples(*(rarely(st.none(), one) for one in each)).map(lambda found: [one for one in found if one])
    return chosen.flatmap(st.permutations)


def _template(id_: str, members: Mapping[str, st.SearchStrategy[object]]) -> st.SearchStrategy[Document]:
    always = {"id": st.just(id_), "name": NAMES}
    return st.fixed_dictionaries({**always, **members}, optional={"active": st.booleans(), "description": NAMES})


def _templates(house: int) -> st.SearchStrategy[list[Document]]:
    rooms = [
        _template(
            id_,
            {
                "kind": st.just("room"),
                "isDefault": rarely(st.sampled_from([True]), st.sampled_from([False])),
                "domain": rarely(st.just("rooms.example"), st.sampled_from([None, f"house{house}.example"])),
                "defaults": st.sampled_from([{}, {"tags": ["1e3"], "hideFromGAL": True}, {"country": "null"}]),
            },
        )
        for id_ in ROOMS
    ]
    group = _template(
        GROUP,
        {
            # It stays what it was.
            "kind": rarely(st.just("team"), st.just("group")),
            "guestTemplateId": rarely(st.just(GUEST), st.none()),
            "guestPolicyId": rarely(st.sampled_from(POLICIES), st.none()),
            "webhook": st.sampled_from([None, {"url": "https://hooks.example/a"}]),
        },
    )
    guest = _template(
        GUEST,
        {
            "kind": st.just("guest"),
            "guests": st.fixed_dictionaries({"allowed": st.booleans()}),
            "sharingCapability": st.sampled_from(["disabled", "anyone"]),
        },
    )
    return some_of([*rooms, group, guest])


def _policies() -> st.SearchStrategy[list[Document]]:
    each: list[st.SearchStrategy[Document]] = [
        st.fixed_dictionaries(
            {"id": st.just(id_), "name": NAMES},
            optional={"expiry": st.fixed_dictionaries({"afterDays": DAYS, "action": st.just("remove")})},
        )
        for id_ in POLICIES
    ]
    return some_of(each)


def _house(house: int) -> st.SearchStrategy[Document]:
    own = f"house{house}.example"
    return st.fixed_dictionaries(
        {
            "id": st.just(HOUSES[house]),
            "name": NAMES,
            "domains": rarely(st.just([own, "rooms.example"]), st.just([own])),
        },
        optional={
            "administrators": st.fixed_dictionaries({"users": st.lists(st.sampled_from(PEOPLE))}),
            "repair": st.fixed_dictionaries(
                {"drift": st.booleans()},
                optional={"properties": st.dictionaries(st.sampled_from(REPAIRABLE), st.sampled_from(TREATMENTS))},
            ),
            "limits": st.fixed_dictionaries({"openRequests": st.integers(1, 9)}),
            "applicability": st.sampled_from(["refuse", "warn"]),
            "issuers": rarely(ISSUERS, st.just([])),
        },
    ).flatmap(lambda members: _with_lists(members, house))


def _with_lists(members: Document, house: int) -> st.SearchStrategy[Document]:
    """Null is left out."""
    lists = {"templates": _templates(house), "policies": _policies()}
    return st.fixed_dictionaries({name: rarely(st.none(), each) for name, each in lists.items()}).map(
        lambda found: {**members, **found}
    )


HOUSEHOLDS = st.tuples(st.none() | _house(0), st.none() | _house(1)).map(
    lambda houses: [house for house in houses if house is not None]
)


def read_houses(houses: list[Document]) -> Configuration:
    """Read tenants from one file each. Raises ConfigurationInvalid."""
    return read_configurations(
        [
            ConfigurationFile(f"{number}.yaml", write_document({"tenants": [house]}).encode())
            for number, house in enumerate(houses)
        ]
    )
