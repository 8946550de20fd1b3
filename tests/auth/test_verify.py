# SPDX-License-Identifier: Apache-2.0
import json
import timeit
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from joserfc.jwk import ECKey, RSAKey
from structlog.testing import capture_logs

from chamberlain.auth.issuers import IssuerKeys
from chamberlain.auth.models import ActorType, Caller
from chamberlain.auth.models import Issuer as RegisteredIssuer
from chamberlain.auth.permissions import ScopePrefixes
from chamberlain.auth.tokens import api_audiences
from chamberlain.auth.verifier import Verifier
from chamberlain.core.errors import Unauthenticated, Unavailable
from chamberlain.core.ids import ClientId, TenantId
from tests.auth.issuer import Issuer, make_key, run_issuer, sign, sign_with_header

MAIN = "https://api.example"
INSIDERS = "https://insiders.example"
GRAPH = "https://graph.example"
API_AUDIENCES = api_audiences(ScopePrefixes(MAIN, INSIDERS))
TENANT = TenantId(UUID(int=1))
TID = "e57a7e00-0000-4000-8000-000000000001"
USER = "ada00000-0000-4000-8000-000000000001"
CLIENT = "c11e0000-0000-4000-8000-000000000001"
START = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
KEY, OTHER_KEY = make_key("first"), make_key("second")
ELLIPTIC_KEY = ECKey.generate_key("P-256", {"kid": "curve", "use": "sig", "alg": "ES256"})

DEEP_HEADER = b'{"alg": "RS256", "kid": "first", "x": ' + b"[" * 9000

Claims = dict[str, object]


@dataclass
class VerifierFixture:
    """A verifier with its issuer and keys, and a clock that a test moves."""

    issuer: Issuer
    keys: IssuerKeys
    now: datetime = START
    audiences: Mapping[str, str] = field(default_factory=dict)
    registered: bool = True
    lookups: int = 0

    def __post_init__(self) -> None:
        self.verifier = Verifier(API_AUDIENCES, self.find_issuer, self.keys, self.clock)

    def clock(self) -> datetime:
        return self.now

    async def find_issuer(self, issuer: str, tid: str | None) -> RegisteredIssuer | None:
        self.lookups += 1
        if not self.registered or (issuer, tid) not in ((self.issuer.address, TID), (self.issuer.address, None)):
            return None
        return RegisteredIssuer(TENANT, issuer, TID, self.audiences)

    def user_claims(self, **changes: object) -> Claims:
        claims: Claims = {
            "iss": self.issuer.address,
            "tid": TID,
            "aud": MAIN,
            "oid": USER,
            "sub": USER,
            "azp": CLIENT,
            "idtyp": "user",
            "scp": "collab/App.ReadWrite.All",
            "ver": "2.0",
            "iat": START.timestamp(),
            "nbf": START.timestamp(),
            "exp": (START + timedelta(hours=1)).timestamp(),
        }
        return changed(claims, changes)

    def application_claims(self, **changes: object) -> Claims:
        claims = self.user_claims(
            oid=CLIENT, sub=CLIENT, idtyp="app", scp=None, roles=["admin/Mail.Manage.ReadWrite.All"]
        )
        return changed(claims, changes)

    async def verify(self, claims: Claims, key: RSAKey | ECKey = KEY, **header: object) -> Caller:
        return await self.verifier.verify(f"Bearer {sign(claims, key, **header)}")

    async def refusal(self, claims: Claims, key: RSAKey | ECKey = KEY, **header: object) -> str:
        return await self.refusal_of(f"Bearer {sign(claims, key, **header)}")

    async def refusal_of(self, authorization: str | None) -> str:
        with pytest.raises(Unauthenticated) as refused:
            await self.verifier.verify(authorization)
        return refused.value.code


def changed(claims: Claims, changes: Mapping[str, object]) -> Claims:
    """The claims with other values; None leaves one out."""
    return {name: value for name, value in {**claims, **changes}.items() if value is not None}


@pytest.fixture
async def verifier_fixture() -> AsyncIterator[VerifierFixture]:
    async with run_issuer() as issuer:
        issuer.keys = [KEY, ELLIPTIC_KEY]
        moved: list[VerifierFixture] = []
        keys = IssuerKeys(lambda: moved[0].now)
        moved.append(VerifierFixture(issuer, keys))
        yield moved[0]
        await keys.close()


def encoded(part: object) -> str:
    text = part if isinstance(part, bytes) else json.dumps(part).encode()
    return urlsafe_b64encode(text).rstrip(b"=").decode()


async def test_it_works_for_a_user(verifier_fixture: VerifierFixture) -> None:
    caller = await verifier_fixture.verify(verifier_fixture.user_claims())

    assert caller == Caller(
        tenant_id=TENANT,
        type=ActorType.USER,
        id=UUID(USER),
        client_id=ClientId(CLIENT),
        permissions=frozenset({f"{MAIN}/collab/App.ReadWrite.All"}),
        expires_at=START + timedelta(hours=1),
    )


async def test_it_works_for_an_application(verifier_fixture: VerifierFixture) -> None:
    caller = await verifier_fixture.verify(verifier_fixture.application_claims())

    assert caller.type is ActorType.APPLICATION
    assert caller.id == UUID(CLIENT)
    assert caller.user_id is None
    assert caller.permissions == {f"{MAIN}/admin/Mail.Manage.ReadWrite.All"}


async def test_it_works_with_an_elliptic_key(verifier_fixture: VerifierFixture) -> None:
    assert (await verifier_fixture.verify(verifier_fixture.user_claims(), ELLIPTIC_KEY)).id == UUID(USER)


@pytest.mark.parametrize("authorization", [None, "", "Bearer", "Bearer ", "Bearer   ", "Basic YTpi", "Digest x"])
async def test_it_rejects_a_call_without_a_token(verifier_fixture: VerifierFixture, authorization: str | None) -> None:
    assert await verifier_fixture.refusal_of(authorization) == "tokenMissing"


@pytest.mark.parametrize(
    "token",
    [
        "x",
        "a.b",
        "a.b.c",
        "a.b.c.d.e",
        "é.é.é",
        f"{encoded(b'[]')}.{encoded({})}.AAAA",
        f"{encoded(b'[' * 9000)}.{encoded({})}.AAAA",
        f"{encoded(DEEP_HEADER)}.{encoded({})}.AAAA",
        f"{encoded({'alg': 'RS256', 'kid': 'first'})}.{encoded(b'{')}.AAAA",
        "A" * 17_000,
        "\ud800",
    ],
)
async def test_it_rejects_what_is_no_token(verifier_fixture: VerifierFixture, token: str) -> None:
    assert await verifier_fixture.refusal_of(f"Bearer {token}") == "tokenInvalid"


async def test_a_header_of_16_kib_is_read_and_a_longer_one_is_refused(verifier_fixture: VerifierFixture) -> None:
    header = f"Bearer {sign(verifier_fixture.user_claims(), KEY)}"

    assert (await verifier_fixture.verifier.verify(header.ljust(16 * 1024))).id == UUID(USER)
    assert await verifier_fixture.refusal_of(header.ljust(16 * 1024 + 1)) == "tokenInvalid"


async def test_a_token_with_nested_values_is_proven_or_refused_at_any_depth(verifier_fixture: VerifierFixture) -> None:
    """Two parsers read a header, and neither follows it without end."""
    outcomes = set()
    for depth in range(500, 1_100):
        header = b'{"alg": "ES256", "kid": "curve", "x": %s%s}' % (b"[" * depth, b"]" * depth)
        token = sign_with_header(verifier_fixture.user_claims(), ELLIPTIC_KEY, header)
        try:
            await verifier_fixture.verifier.verify(f"Bearer {token}")
        except Unauthenticated as refused:
            outcomes.add(refused.code)
        else:
            outcomes.add("proven")

    assert outcomes == {"proven", "tokenInvalid"}


async def test_it_takes_the_scheme_in_either_letter_case(verifier_fixture: VerifierFixture) -> None:
    assert (await verifier_fixture.verifier.verify(f"bearer {sign(verifier_fixture.user_claims(), KEY)}")).id == UUID(
        USER
    )


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE"])
async def test_it_rejects_an_unsigned_token(verifier_fixture: VerifierFixture, algorithm: str) -> None:
    unsigned = f"{encoded({'alg': algorithm, 'kid': 'first'})}.{encoded(verifier_fixture.user_claims())}."

    assert await verifier_fixture.refusal_of(f"Bearer {unsigned}") == "tokenInvalid"
    assert await verifier_fixture.refusal_of(f"Bearer {unsigned}AAAA") == "tokenInvalid"
    assert verifier_fixture.issuer.fetches == 0


async def test_it_rejects_a_public_key_used_as_a_shared_secret(verifier_fixture: VerifierFixture) -> None:
    secret = KEY.public_key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head = f"{encoded({'alg': 'HS256', 'typ': 'JWT', 'kid': 'first'})}.{encoded(verifier_fixture.user_claims())}"
    code = hmac.HMAC(secret, hashes.SHA256())
    code.update(head.encode())

    assert await verifier_fixture.refusal_of(f"Bearer {head}.{encoded(code.finalize())}") == "tokenInvalid"


async def test_it_rejects_one_algorithm_with_the_key_of_another(verifier_fixture: VerifierFixture) -> None:
    assert await verifier_fixture.refusal(verifier_fixture.user_claims(), KEY, kid="curve") == "tokenInvalid"
    assert await verifier_fixture.refusal(verifier_fixture.user_claims(), ELLIPTIC_KEY, kid="first") == "tokenInvalid"


async def test_it_rejects_a_key_that_the_token_brings_along(verifier_fixture: VerifierFixture) -> None:
    async with run_issuer() as thief:
        thief.keys = [OTHER_KEY]
        brought: dict[str, object] = {
            "jku": f"{thief.address}/keys",
            "x5u": f"{thief.address}/keys",
            "jwk": OTHER_KEY.as_dict(private=False),
        }

        assert await verifier_fixture.refusal(verifier_fixture.user_claims(), OTHER_KEY, **brought) == "tokenInvalid"
        assert (
            await verifier_fixture.refusal(verifier_fixture.user_claims(), OTHER_KEY, **brought, kid="first")
            == "tokenInvalid"
        )
        assert not thief.asked


async def test_it_ignores_what_a_token_brings_along(verifier_fixture: VerifierFixture) -> None:
    header: dict[str, object] = {"jku": 7, "x5u": "nonsense", "jwk": "nonsense", "x5c": ["A" * 3000]}

    assert (await verifier_fixture.verify(verifier_fixture.user_claims(), KEY, **header)).id == UUID(USER)


@pytest.mark.parametrize(
    "header",
    [
        {"crit": ["exp"], "exp": 1},
        {"crit": []},
        {"crit": ["b64"], "b64": False},
        {"b64": False},
        {"typ": "dpop+jwt"},
        {"typ": 1},
        {"kid": None},
        {"kid": ""},
    ],
)
async def test_it_rejects_headers_that_it_does_not_understand(
    verifier_fixture: VerifierFixture, header: dict[str, object]
) -> None:
    assert await verifier_fixture.refusal(verifier_fixture.user_claims(), KEY, **header) == "tokenInvalid"


@pytest.mark.parametrize("typ", [None, "JWT", "at+jwt", "application/at+jwt"])
async def test_it_takes_the_usual_types(verifier_fixture: VerifierFixture, typ: str | None) -> None:
    assert (await verifier_fixture.verify(verifier_fixture.user_claims(), KEY, typ=typ)).id == UUID(USER)


async def test_it_rejects_a_changed_token(verifier_fixture: VerifierFixture) -> None:
    header, _, signature = sign(verifier_fixture.user_claims(), KEY).split(".")
    better = encoded(verifier_fixture.user_claims(scp="admin/Config.ReadWrite.All"))

    assert await verifier_fixture.refusal_of(f"Bearer {header}.{better}.{signature}") == "tokenInvalid"


@pytest.mark.parametrize("signature", ["A", "AA", "A" * 86, "A" * 342, "_" * 86, "_" * 342])
@pytest.mark.parametrize("key", [KEY, ELLIPTIC_KEY])
async def test_it_rejects_a_made_up_signature(
    verifier_fixture: VerifierFixture, key: RSAKey | ECKey, signature: str
) -> None:
    signed, _, _ = sign(verifier_fixture.user_claims(), key).rpartition(".")

    assert await verifier_fixture.refusal_of(f"Bearer {signed}.{signature}") == "tokenInvalid"


async def test_without_a_key_id_no_issuer_is_asked(verifier_fixture: VerifierFixture) -> None:
    assert await verifier_fixture.refusal(verifier_fixture.user_claims(), kid=None) == "tokenInvalid"
    assert not verifier_fixture.issuer.asked


async def test_it_rejects_a_foreign_issuer(verifier_fixture: VerifierFixture) -> None:
    async with run_issuer() as foreign:
        foreign.keys = [KEY]

        assert await verifier_fixture.refusal(verifier_fixture.user_claims(iss=foreign.address)) == "tokenInvalid"
        assert not foreign.asked


@pytest.mark.parametrize("tid", ["e57a7e00-0000-4000-8000-000000000002", "", 7])
async def test_it_rejects_a_foreign_tenant_of_a_known_issuer(verifier_fixture: VerifierFixture, tid: object) -> None:
    assert await verifier_fixture.refusal(verifier_fixture.user_claims(tid=tid)) == "tokenInvalid"


async def test_it_handles_an_issuer_that_leaves_the_tenant_out(verifier_fixture: VerifierFixture) -> None:
    assert (await verifier_fixture.verify(verifier_fixture.user_claims(tid=None))).tenant_id == TENANT


@pytest.mark.parametrize("given", ["another issuer", "another tid", "no tid"])
async def test_it_rejects_a_registration_that_is_not_the_one_asked_for(
    verifier_fixture: VerifierFixture, given: str
) -> None:
    async def find_issuer(issuer: str, _: str | None) -> RegisteredIssuer:
        tid = {"another tid": "other", "no tid": None}.get(given, TID)
        return RegisteredIssuer(TENANT, issuer + "/x" if given == "another issuer" else issuer, tid, {})

    verifier = Verifier(API_AUDIENCES, find_issuer, verifier_fixture.keys, verifier_fixture.clock)

    with pytest.raises(Unauthenticated):
        await verifier.verify(f"Bearer {sign(verifier_fixture.user_claims(), KEY)}")


async def test_it_rejects_a_token_that_has_expired(verifier_fixture: VerifierFixture) -> None:
    claims = verifier_fixture.user_claims()
    verifier_fixture.now = START + timedelta(hours=1, seconds=59)
    assert (await verifier_fixture.verify(claims)).id == UUID(USER)

    verifier_fixture.now = START + timedelta(hours=1, seconds=60)
    assert await verifier_fixture.refusal(claims) == "tokenExpired"


async def test_it_rejects_a_token_that_is_not_valid_yet(verifier_fixture: VerifierFixture) -> None:
    claims = verifier_fixture.user_claims(nbf=(START + timedelta(seconds=61)).timestamp())

    assert await verifier_fixture.refusal(claims) == "tokenInvalid"
    verifier_fixture.now = START + timedelta(seconds=1)
    assert (await verifier_fixture.verify(claims)).id == UUID(USER)


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": None},
        {"exp": "1795170000"},
        {"exp": True},
        {"exp": 1e300},
        {"exp": 253402300799},
        {"exp": -1e18},
        {"nbf": 1e300},
        {"nbf": "0"},
        {"aud": None},
        {"aud": 7},
        {"aud": [7]},
        {"iss": None},
        {"iss": 7},
        {"scp": 7},
        {"scp": {"a": "b"}},
        {"oid": "7"},
        {"oid": "{ada00000-0000-4000-8000-000000000001}"},
        {"oid": None, "sub": "ada"},
        {"oid": None, "sub": None},
        {"azp": None},
    ],
)
async def test_it_rejects_claims_that_are_missing_or_mistyped(
    verifier_fixture: VerifierFixture, changes: Claims
) -> None:
    assert await verifier_fixture.refusal(verifier_fixture.user_claims(**changes)) in ("tokenInvalid", "tokenExpired")


@pytest.mark.parametrize("name", ["iss", "tid", "azp", "appid", "client_id"])
@pytest.mark.parametrize("character", ["\x00", "\n", "\x9f"])
async def test_it_rejects_control_characters_before_anybody_is_asked(
    verifier_fixture: VerifierFixture, name: str, character: str
) -> None:
    """They are asked of the database and kept in rows, and no text of it can have a NUL."""
    assert await verifier_fixture.refusal(verifier_fixture.user_claims(**{name: f"x{character}"})) == "tokenInvalid"
    assert verifier_fixture.lookups == 0


async def test_it_rejects_a_null_where_a_claim_should_be(verifier_fixture: VerifierFixture) -> None:
    assert await verifier_fixture.refusal({**verifier_fixture.user_claims(), "scp": None}) == "tokenInvalid"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ActorType.USER),
        ({"scp": None, "scope": "collab/App.ReadWrite.All"}, ActorType.USER),
        ({"scp": ["collab/App.ReadWrite.All"]}, ActorType.USER),
        ({"scp": ""}, ActorType.USER),
        ({"idtyp": "app"}, ActorType.APPLICATION),
        ({"idtyp": "app", "scp": None, "scope": "profile email"}, ActorType.APPLICATION),
        ({"idtyp": None, "sub": CLIENT}, ActorType.APPLICATION),
        ({"idtyp": None, "sub": CLIENT.upper()}, ActorType.APPLICATION),
        ({"idtyp": None, "oid": CLIENT}, ActorType.APPLICATION),
        ({"idtyp": None, "sub": CLIENT, "azp": None, "appid": CLIENT}, ActorType.APPLICATION),
        ({"idtyp": None, "sub": CLIENT, "azp": None, "client_id": CLIENT}, ActorType.APPLICATION),
        ({"idtyp": None, "sub": CLIENT, "azp": None, "cid": CLIENT}, ActorType.APPLICATION),
        ({"idtyp": None}, ActorType.USER),
        ({"idtyp": None, "sid": "5f1c", "uid": "00u1", "upn": "ada"}, ActorType.USER),
        ({"sid": None, "preferred_username": 7, "upn": {"a": 1}}, ActorType.USER),
        ({"idtyp": "app", "preferred_username": f"service-account-{CLIENT}"}, ActorType.APPLICATION),
        ({"idtyp": "app", "preferred_username": CLIENT}, ActorType.APPLICATION),
        ({"scp": None, "idtyp": "app"}, ActorType.APPLICATION),
        ({"scp": None, "idtyp": "app", "sub": "anything"}, ActorType.APPLICATION),
        ({"scp": None, "idtyp": None}, ActorType.APPLICATION),
        ({"scp": None, "idtyp": None, "sub": CLIENT}, ActorType.APPLICATION),
        ({"scp": None, "idtyp": None, "sub": CLIENT, "azp": None, "appid": CLIENT}, ActorType.APPLICATION),
        ({"scp": None, "idtyp": None, "sub": CLIENT, "azp": None, "client_id": CLIENT}, ActorType.APPLICATION),
        ({"scp": None, "idtyp": "user"}, None),
        ({"scp": None, "idtyp": "user", "sub": CLIENT}, None),
        ({"scp": None, "idtyp": ""}, None),
        ({"scp": None, "idtyp": None, "sub": "pairwise"}, None),
        ({"scp": None, "idtyp": None, "sub": None}, None),
    ],
)
async def test_it_tells_users_from_applications(
    verifier_fixture: VerifierFixture, changes: Claims, expected: ActorType | None
) -> None:
    claims = verifier_fixture.user_claims(**changes)

    if expected is None:
        assert await verifier_fixture.refusal(claims) == "tokenInvalid"
    else:
        assert (await verifier_fixture.verify(claims)).type is expected


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"idtyp": "user", "sub": CLIENT}, id="user whose subject is the client"),
        pytest.param({"idtyp": "user", "oid": CLIENT}, id="user whose object id is the client"),
        pytest.param({"idtyp": "device"}, id="another idtyp"),
        pytest.param({"idtyp": "APP"}, id="idtyp in another case"),
        pytest.param({"idtyp": "app", "sid": "5f1c"}, id="application with a session"),
        pytest.param({"idtyp": "app", "uid": "00u1"}, id="application with a user id"),
        pytest.param({"idtyp": "app", "preferred_username": "ada"}, id="application with a user name"),
        pytest.param({"idtyp": "app", "upn": "ada@estate.example"}, id="application with a principal name"),
        pytest.param({"idtyp": "app", "unique_name": 7}, id="application with a unique name"),
        pytest.param({"idtyp": None, "sub": CLIENT, "preferred_username": "ada"}, id="own client with a user name"),
        pytest.param({"idtyp": None, "scp": None, "sid": "5f1c"}, id="no scopes, but a session"),
        pytest.param(
            {"idtyp": None, "preferred_username": f"service-account-{CLIENT}"}, id="service account, no idtyp"
        ),
        pytest.param({"preferred_username": f"Service-Account-{CLIENT}"}, id="service account as a user"),
    ],
)
async def test_it_rejects_a_token_that_contradicts_itself(verifier_fixture: VerifierFixture, changes: Claims) -> None:
    with capture_logs() as logs:
        assert await verifier_fixture.refusal(verifier_fixture.user_claims(**changes)) == "tokenInvalid"
        assert await verifier_fixture.refusal(verifier_fixture.user_claims(**changes)) == "tokenInvalid"

    assert [line["event"] for line in logs] == ["token contradicts itself"]
    assert (logs[0]["issuer"], logs[0]["client"]) == (verifier_fixture.issuer.address, CLIENT)


async def test_a_contradiction_is_logged_again_after_a_minute(verifier_fixture: VerifierFixture) -> None:
    claims = verifier_fixture.user_claims(idtyp="app", sid="5f1c")
    with capture_logs() as logs:
        await verifier_fixture.refusal(claims)
        verifier_fixture.now = START + timedelta(seconds=60)
        await verifier_fixture.refusal(claims)

    assert len(logs) == 2


async def test_a_thousand_clients_that_contradict_themselves_are_known_at_a_time(
    verifier_fixture: VerifierFixture,
) -> None:
    async def lines(*clients: int) -> int:
        with capture_logs() as logs:
            for client in clients:
                await verifier_fixture.refusal(
                    verifier_fixture.user_claims(idtyp="app", sid="5f1c", azp=str(client)), ELLIPTIC_KEY
                )
        return len(logs)

    assert await lines(*range(1_000)) == 1_000
    assert await lines(0) == 0

    # One more, and the one that was heard of longest ago is forgotten.
    assert await lines(1_000) == 1
    assert await lines(0, 2) == 0
    assert await lines(1) == 1


async def test_a_forged_contradiction_is_not_logged(verifier_fixture: VerifierFixture) -> None:
    with capture_logs() as logs:
        assert (
            await verifier_fixture.refusal(
                verifier_fixture.user_claims(idtyp="app", sid="5f1c"), OTHER_KEY, kid="first"
            )
            == "tokenInvalid"
        )

    assert logs == []


async def test_an_application_whose_client_id_is_no_uuid_has_an_id_of_its_own(
    verifier_fixture: VerifierFixture,
) -> None:
    first, again, second = [
        await verifier_fixture.verify(
            verifier_fixture.application_claims(oid=None, idtyp=None, sub=client, azp=None, cid=client, iat=number)
        )
        for number, client in enumerate(("0oaautomation", "0oaautomation", "0oaanother"))
    ]

    assert first.client_id == "0oaautomation"
    assert first.id == again.id
    assert first.id != second.id


async def test_a_subject_that_is_no_uuid_is_refused_for_a_user_and_for_a_service_account(
    verifier_fixture: VerifierFixture,
) -> None:
    assert (
        await verifier_fixture.refusal(verifier_fixture.user_claims(oid=None, sub="ada@estate.example"))
        == "tokenInvalid"
    )
    assert (
        await verifier_fixture.refusal(verifier_fixture.application_claims(oid=None, sub="f:1:automation"))
        == "tokenInvalid"
    )


async def test_roles_of_a_user_and_scopes_of_an_application_count_for_nothing(
    verifier_fixture: VerifierFixture,
) -> None:
    user = await verifier_fixture.verify(verifier_fixture.user_claims(roles=["admin/Config.ReadWrite.All"]))
    odd = await verifier_fixture.verify(verifier_fixture.user_claims(roles={"admin": "yes"}))
    application = await verifier_fixture.verify(
        verifier_fixture.application_claims(roles=None, scp="admin/Mail.Manage.ReadWrite.All")
    )

    assert user.permissions == odd.permissions == {f"{MAIN}/collab/App.ReadWrite.All"}
    assert application.permissions == frozenset()


async def test_it_rejects_roles_that_are_no_list(verifier_fixture: VerifierFixture) -> None:
    assert (
        await verifier_fixture.refusal(verifier_fixture.application_claims(roles="admin/Mail.Manage.ReadWrite.All"))
        == "tokenInvalid"
    )
    assert await verifier_fixture.refusal(verifier_fixture.application_claims(roles=[1])) == "tokenInvalid"


@pytest.mark.parametrize("name", ["azp", "appid", "client_id"])
async def test_it_finds_the_client_in_each_of_its_claims(verifier_fixture: VerifierFixture, name: str) -> None:
    caller = await verifier_fixture.verify(verifier_fixture.user_claims(**{"azp": None, name: "cli"}))

    assert caller.client_id == "cli"


async def test_it_handles_an_application_that_is_its_own_client(verifier_fixture: VerifierFixture) -> None:
    assert (await verifier_fixture.verify(verifier_fixture.application_claims(azp=None))).client_id == CLIENT


async def test_it_takes_the_subject_for_an_object_id(verifier_fixture: VerifierFixture) -> None:
    assert (await verifier_fixture.verify(verifier_fixture.user_claims(oid=None, sub=USER.upper()))).id == UUID(USER)


@pytest.mark.parametrize(
    ("audience", "names", "expected"),
    [
        (MAIN, "collab/App.ReadWrite.All mail/X", {f"{MAIN}/collab/App.ReadWrite.All", f"{MAIN}/mail/X"}),
        (f"{MAIN}/collab", "App.ReadWrite.All", {f"{MAIN}/collab/App.ReadWrite.All"}),
        (f"{MAIN}/mail", "App.ReadWrite.All", {f"{MAIN}/mail/App.ReadWrite.All"}),
        (f"{MAIN}/admin", "Config.ReadWrite.All", {f"{MAIN}/admin/Config.ReadWrite.All"}),
        (INSIDERS, "collab/App.ReadWrite.All", {f"{INSIDERS}/collab/App.ReadWrite.All"}),
        (f"{INSIDERS}/collab", "App.ReadWrite.All", {f"{INSIDERS}/collab/App.ReadWrite.All"}),
        # A segment is never taken for granted twice, and never left.
        (f"{MAIN}/collab", "collab/App.ReadWrite.All", {f"{MAIN}/collab/collab/App.ReadWrite.All"}),
        (f"{MAIN}/collab", "admin/Config.ReadWrite.All", {f"{MAIN}/collab/admin/Config.ReadWrite.All"}),
        (f"{MAIN}/collab", "../admin/Config.ReadWrite.All", {f"{MAIN}/collab/../admin/Config.ReadWrite.All"}),
        (f"{MAIN}/collab", "/App.ReadWrite.All", {f"{MAIN}/collab//App.ReadWrite.All"}),
        (MAIN, "App.ReadWrite.All", {f"{MAIN}/App.ReadWrite.All"}),
        # Names that are absolute already count below the token's own audience only.
        (MAIN, f"{MAIN}/collab/App.ReadWrite.All", {f"{MAIN}/collab/App.ReadWrite.All"}),
        (f"{MAIN}/collab", f"{MAIN}/collab/App.ReadWrite.All", {f"{MAIN}/collab/App.ReadWrite.All"}),
        (f"{MAIN}/collab", f"{MAIN}/admin/Config.ReadWrite.All", set()),
        (f"{MAIN}/collab", f"{MAIN}/collaborate/X", set()),
        (MAIN, f"{INSIDERS}/collab/App.ReadWrite.All", set()),
        (MAIN, f"{GRAPH}/Group.Read.All", set()),
        (MAIN, "https://api.example.evil/collab/App.ReadWrite.All", set()),
        (MAIN, "HTTPS://API.EXAMPLE/collab/App.ReadWrite.All", set()),
    ],
)
async def test_it_makes_names_absolute(
    verifier_fixture: VerifierFixture, audience: str, names: str, expected: set[str]
) -> None:
    user = await verifier_fixture.verify(verifier_fixture.user_claims(aud=audience, scp=names))
    application = await verifier_fixture.verify(verifier_fixture.application_claims(aud=audience, roles=names.split()))

    assert user.permissions == application.permissions == expected


@pytest.mark.parametrize(
    "audience",
    [GRAPH, f"{MAIN}/", f"{MAIN}/graph", f"{MAIN}/collab/", "https://API.example", "", CLIENT, [], [GRAPH], [""]],
)
async def test_it_rejects_an_unknown_audience(verifier_fixture: VerifierFixture, audience: object) -> None:
    assert await verifier_fixture.refusal(verifier_fixture.user_claims(aud=audience)) == "audienceUnknown"


async def test_it_handles_an_audience_that_is_an_identifier(verifier_fixture: VerifierFixture) -> None:
    verifier_fixture.audiences = {CLIENT: f"{MAIN}/collab"}

    caller = await verifier_fixture.verify(verifier_fixture.user_claims(aud=CLIENT, scp="App.ReadWrite.All"))

    assert caller.permissions == {f"{MAIN}/collab/App.ReadWrite.All"}


async def test_it_rejects_an_identifier_that_stands_for_no_audience_of_ours(verifier_fixture: VerifierFixture) -> None:
    verifier_fixture.audiences = {CLIENT: GRAPH, "": ""}

    assert await verifier_fixture.refusal(verifier_fixture.user_claims(aud=CLIENT)) == "audienceUnknown"
    assert await verifier_fixture.refusal(verifier_fixture.user_claims(aud="")) == "audienceUnknown"


async def test_it_handles_a_list_of_one_audience(verifier_fixture: VerifierFixture) -> None:
    verifier_fixture.audiences = {CLIENT: MAIN}

    caller = await verifier_fixture.verify(verifier_fixture.user_claims(aud=[MAIN, CLIENT]))

    assert caller.permissions == {f"{MAIN}/collab/App.ReadWrite.All"}


async def test_in_a_token_for_others_as_well_only_absolute_names_count(verifier_fixture: VerifierFixture) -> None:
    names = f"admin/Config.ReadWrite.All {MAIN}/mail/App.ReadWrite.All"

    caller = await verifier_fixture.verify(verifier_fixture.user_claims(aud=[MAIN, "https://other.example"], scp=names))

    assert caller.permissions == {f"{MAIN}/mail/App.ReadWrite.All"}


async def test_it_rejects_a_token_for_several_audiences_of_ours(verifier_fixture: VerifierFixture) -> None:
    assert (
        await verifier_fixture.refusal(verifier_fixture.user_claims(aud=[MAIN, f"{MAIN}/collab"])) == "audienceUnknown"
    )


async def test_the_directory_has_its_own_audience(verifier_fixture: VerifierFixture) -> None:
    directory = Verifier(
        frozenset({GRAPH}), verifier_fixture.find_issuer, verifier_fixture.keys, verifier_fixture.clock
    )
    token = f"Bearer {sign(verifier_fixture.user_claims(aud=GRAPH, scp='Group.Read.All'), KEY)}"

    assert (await directory.verify(token)).permissions == {f"{GRAPH}/Group.Read.All"}
    assert await verifier_fixture.refusal_of(token) == "audienceUnknown"
    with pytest.raises(Unauthenticated):
        await directory.verify(f"Bearer {sign(verifier_fixture.user_claims(), KEY)}")


async def test_a_token_is_proven_once_a_minute(verifier_fixture: VerifierFixture) -> None:
    token = f"Bearer {sign(verifier_fixture.user_claims(), KEY)}"
    for seconds in (0, 30, 59):
        verifier_fixture.now = START + timedelta(seconds=seconds)
        await verifier_fixture.verifier.verify(token)
    assert verifier_fixture.lookups == 1

    verifier_fixture.now = START + timedelta(seconds=60)
    await verifier_fixture.verifier.verify(token)

    assert verifier_fixture.lookups == 2


async def test_the_header_that_was_proven_longest_ago_is_forgotten_first(verifier_fixture: VerifierFixture) -> None:
    verifier = Verifier(
        API_AUDIENCES, verifier_fixture.find_issuer, verifier_fixture.keys, verifier_fixture.clock, most_remembered=3
    )
    token = sign(verifier_fixture.user_claims(), KEY)

    async def proofs(*headers: int) -> int:
        """Count the headers that are verified and not cached; their spaces make them different."""
        before = verifier_fixture.lookups
        for spaces in headers:
            await verifier.verify(f"Bearer {' ' * spaces}{token}")
        return verifier_fixture.lookups - before

    assert await proofs(1, 2, 3) == 3
    assert await proofs(1, 2, 3) == 0
    assert await proofs(4) == 1
    assert await proofs(2, 3, 4) == 0
    assert await proofs(1) == 1

    # Each is proven again after its minute, and is the youngest then.
    verifier_fixture.now = START + timedelta(seconds=60)
    assert await proofs(4) == 1
    assert await proofs(5, 6) == 2
    assert await proofs(4) == 0


async def test_a_registration_that_is_gone_is_noticed_within_a_minute(verifier_fixture: VerifierFixture) -> None:
    token = f"Bearer {sign(verifier_fixture.user_claims(), KEY)}"
    await verifier_fixture.verifier.verify(token)

    verifier_fixture.registered = False
    verifier_fixture.now = START + timedelta(seconds=60)

    assert await verifier_fixture.refusal_of(token) == "tokenInvalid"


async def test_a_remembered_token_expires(verifier_fixture: VerifierFixture) -> None:
    token = f"Bearer {sign(verifier_fixture.user_claims(exp=START.timestamp() - 50), KEY)}"
    await verifier_fixture.verifier.verify(token)

    verifier_fixture.now = START + timedelta(seconds=10)

    assert await verifier_fixture.refusal_of(token) == "tokenExpired"


async def test_a_refused_token_is_not_remembered(verifier_fixture: VerifierFixture) -> None:
    token = f"Bearer {sign(verifier_fixture.user_claims(), KEY)}"
    verifier_fixture.registered = False
    assert await verifier_fixture.refusal_of(token) == "tokenInvalid"

    verifier_fixture.registered = True

    assert (await verifier_fixture.verifier.verify(token)).id == UUID(USER)


async def test_a_remembered_token_costs_next_to_nothing(verifier_fixture: VerifierFixture) -> None:
    token = f"Bearer {sign(verifier_fixture.user_claims(), KEY)}"
    await verifier_fixture.verifier.verify(token)

    def verify_often(count: int) -> None:
        for _ in range(count):
            # Nothing is waited for, so the coroutine ends with its first step.
            with suppress(StopIteration):
                verifier_fixture.verifier.verify(token).send(None)

    best = min(timeit.repeat(lambda: verify_often(1000), number=1, repeat=20)) / 1000

    # Below 2 us alone on a laptop; the bound leaves room for a busy machine, a signature would cost 50 us and more.
    assert best < 10e-6


async def test_an_issuer_that_cannot_be_asked_is_no_fault_of_the_caller(verifier_fixture: VerifierFixture) -> None:
    verifier_fixture.issuer.answers["/.well-known/openid-configuration"] = lambda: (500, b"")

    with pytest.raises(Unavailable) as refused:
        await verifier_fixture.verify(verifier_fixture.user_claims())

    assert refused.value.code == "issuerUnavailable"
