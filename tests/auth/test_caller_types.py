# SPDX-License-Identifier: Apache-2.0
"""Delegated and application permissions are never confused, whatever claims a token has."""

from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from chamberlain.auth.models import ActorType
from chamberlain.auth.tokens import Claims, Contradiction, classify

if TYPE_CHECKING:
    from collections.abc import Mapping

USER, CLIENT, ACCOUNT = "ada", "automation", "service-account-automation"
IDS = st.sampled_from([USER, CLIENT, CLIENT.upper(), "another"])
SCOPES = st.sampled_from(["", "profile email", "collab/App.ReadWrite.All", ["collab/App.ReadWrite.All"]])
NAMES = st.sampled_from([USER, CLIENT, ACCOUNT, ACCOUNT.upper(), None, 7])
CLAIMS = st.fixed_dictionaries(
    {"iss": st.just("https://login.example"), "aud": st.just("https://api.example"), "exp": st.just(0)},
    optional={
        "sub": IDS,
        "oid": IDS,
        "azp": IDS,
        "appid": IDS,
        "client_id": IDS,
        "cid": IDS,
        "idtyp": st.sampled_from(["app", "user", "", "device"]),
        "scp": SCOPES,
        "scope": SCOPES,
        "roles": st.sampled_from([[], ["admin/Mail.Manage.ReadWrite.All"], "text"]),
        "sid": st.sampled_from(["5f1c", None]),
        "uid": st.sampled_from(["00u1", None]),
        "preferred_username": NAMES,
        "upn": NAMES,
        "unique_name": NAMES,
    },
)


@given(CLAIMS)
def test_no_combination_of_claims_confuses_users_with_applications(claims: "Mapping[str, object]") -> None:
    outcome = classified(claims)
    event(str(outcome))

    clients = {str(claims[name]).casefold() for name in ("azp", "appid", "client_id", "cid") if name in claims}
    is_own_client = any(name in claims and str(claims[name]).casefold() in clients for name in ("sub", "oid"))
    has_scopes = "scp" in claims or "scope" in claims
    if outcome is ActorType.USER:
        # Scopes count: so nothing may say that the client acts by itself.
        assert has_scopes
        assert not is_own_client
        assert claims.get("idtyp", "user") == "user"
        assert not service_account_names(claims, clients)
    if outcome is ActorType.APPLICATION:
        # Roles count: so nothing may say that a user signed in.
        assert claims.get("idtyp", "app") == "app"
        assert claims.get("sid") is None
        assert claims.get("uid") is None
        assert claims.get("idtyp") == "app" or is_own_client or not has_scopes
        own = {*clients, *(f"service-account-{client}" for client in clients)}
        for name in ("preferred_username", "upn", "unique_name"):
            assert claims.get(name) is None or str(claims[name]).casefold() in own


@given(CLAIMS)
def test_roles_and_further_scopes_never_change_the_type(claims: "Mapping[str, object]") -> None:
    without = {name: value for name, value in claims.items() if name != "roles"}
    assert classified(without) == classified({**without, "roles": ["admin/Mail.Manage.ReadWrite.All"]})

    if "scp" in claims:
        assert classified(claims) == classified({**claims, "scope": "collab/App.ReadWrite.All"})


def service_account_names(claims: "Mapping[str, object]", clients: set[str]) -> bool:
    accounts = {f"service-account-{client}" for client in clients}
    return any(str(claims.get(name)).casefold() in accounts for name in ("preferred_username", "upn", "unique_name"))


def classified(claims: "Mapping[str, object]") -> ActorType | str | None:
    try:
        return classify(msgspec.json.decode(msgspec.json.encode(claims), type=Claims))
    except Contradiction:
        return "contradiction"


@pytest.mark.parametrize(
    "claims",
    [
        {"azp": "AUTOMATION", "sub": "automation", "scp": "profile"},
        {"azp": "automation", "oid": "AUTOMATION", "scp": "profile"},
        {"azp": "AUTOMATION", "idtyp": "app", "preferred_username": "automation"},
        {"azp": "AUTOMATION", "idtyp": "app", "upn": "Service-Account-Automation"},
    ],
)
def test_a_client_is_the_same_in_another_letter_case(claims: "Mapping[str, object]") -> None:
    assert classified({"iss": "https://login.example", "aud": "https://api.example", "exp": 0, **claims}) is (
        ActorType.APPLICATION
    )


@pytest.mark.parametrize("name", ["sid", "uid", "preferred_username", "upn", "unique_name"])
def test_a_contradiction_names_the_claim_of_a_user(name: str) -> None:
    claims = {"iss": "https://login.example", "aud": "https://api.example", "exp": 0, "idtyp": "app", name: USER}

    with pytest.raises(Contradiction) as refused:
        classify(msgspec.json.decode(msgspec.json.encode(claims), type=Claims))

    assert f"claim {name} " in str(refused.value)


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({"sub": "ada", "oid": "ada"}, ActorType.APPLICATION),
        ({"sub": "ada", "oid": "another"}, None),
        ({"sub": "ada"}, None),
        ({"oid": "ada"}, None),
        ({}, None),
        ({"idtyp": "user", "sub": "ada", "oid": "ada"}, None),
    ],
)
def test_without_scopes_and_idtyp_only_an_equal_subject_and_object_is_an_application(
    claims: "Mapping[str, object]", expected: ActorType | None
) -> None:
    whole = {"iss": "https://login.example", "aud": "https://api.example", "exp": 0, **claims}

    assert classify(msgspec.convert(whole, Claims)) is expected
