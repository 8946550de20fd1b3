# SPDX-License-Identifier: Apache-2.0
"""The report of `chamberlain doctor` for healthy installations, and for each fault."""

import json
import socket
from collections.abc import Sequence
from pathlib import Path

import asyncpg
import pytest

from chamberlain.app.doctor.cli import examine
from chamberlain.app.doctor.store import looking
from chamberlain.core.errors import Unavailable
from chamberlain.core.health import HealthCheck, HealthState
from chamberlain.core.outages import Outage
from chamberlain.secrets.keyring import Keyring, load_keyring
from chamberlain.settings import Settings, read_settings
from tests.auth.issuer import make_key, run_issuer
from tests.databases import Databases
from tests.estates import ESTATE, PROJECT_GROUP, changed_estate, open_estate
from tests.postgres import connected
from tests.services import Service, free_port, restarted_service, run_command

OK, WARNING, FAULT = HealthState.OK, HealthState.WARNING, HealthState.FAULT
PUT_SECRET = "INSERT INTO chamberlain.webhook_secret (tenant_id, template_id, sealed) VALUES ($1, $2, $3)"
HOLD = """
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, held_reason)
VALUES ($1, 'groupProvision', gen_random_uuid(), '', 'A bug.')
"""


async def nobody(_: str) -> Sequence[str] | None:
    """No service answers."""
    return None


async def somebody(_: str) -> Sequence[str] | None:
    """One answers, and is ready."""
    return ()


def settings_of(databases: Databases, folder: Path, **options: object) -> Settings:
    addresses = {"database_url": databases.addresses.application, "database_worker_url": databases.addresses.worker}
    return read_settings(data_dir=folder, port=free_port(), **{**addresses, **options})


def named(checkups: Sequence[HealthCheck], name: str) -> list[tuple[HealthState, str]]:
    return [(each.state, each.seen) for each in checkups if each.name == name]


def faults(checkups: Sequence[HealthCheck]) -> list[str]:
    return [each.name for each in checkups if each.state is FAULT]


@pytest.fixture
async def example_databases(databases: Databases) -> Databases:
    """A database with the example estate."""
    await open_estate(databases)
    return databases


@pytest.fixture
def keyring(tmp_path: Path) -> Keyring:
    """The keys of the installation."""
    return load_keyring(tmp_path / "keys")


async def test_it_works(example_databases: Databases, tmp_path: Path, keyring: Keyring) -> None:
    async with connected(example_databases.addresses.worker) as connection:
        await connection.execute(PUT_SECRET, ESTATE, PROJECT_GROUP, keyring.seal(b"whsec_", "somewhere"))

    found = await examine(settings_of(example_databases, tmp_path, smtp_url="smtps://mail.example"), nobody)

    assert [each for each in found if each.state is not OK] == [
        HealthCheck(
            "settings",
            WARNING,
            "CHAMBERLAIN_SMTP_SENDER is Chamberlain <chamberlain@localhost>, which most mail servers refuse.",
            "Name an address of the organisation.",
        )
    ]
    names = [each.name for each in found]
    for name in ("database", "clock", "connections", "migrations", "roles", "row-level security", "keys", "directory"):
        assert name in names
    assert named(found, "service")[0][1].startswith("It does not run")


async def test_one_role_that_cannot_sign_in_hides_nothing_else(example_databases: Databases, tmp_path: Path) -> None:
    address = f"postgresql://nobody:hidden@127.0.0.1:{free_port()}/chamberlain"

    found = await examine(settings_of(example_databases, tmp_path, database_worker_url=address), nobody)

    assert faults(found) == ["database"]
    ((_, said),) = [each for each in named(found, "database") if each[0] is FAULT]
    assert said.startswith(Outage.REFUSED.seen)
    assert "CHAMBERLAIN_DATABASE_WORKER_URL" in said
    assert named(found, "migrations")[0][0] is OK
    assert not any("hidden" in f"{each.seen}{each.cure}" for each in found)


async def test_it_handles_an_address_whose_certificate_is_missing(
    example_databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    address = "postgresql://role:hidden@127.0.0.1:1/chamberlain?sslmode=verify-full"

    found = await examine(settings_of(example_databases, tmp_path, database_url=address), nobody)

    ((_, said),) = [each for each in named(found, "database") if each[0] is FAULT]
    assert said.startswith("The database cannot be reached by CHAMBERLAIN_DATABASE_URL: root certificate file ")
    assert not any("hidden" in f"{each.seen}{each.cure}" for each in found)


@pytest.mark.parametrize(
    ("statement", "name", "says"),
    [
        (
            "DELETE FROM migration.applied WHERE file_name LIKE '0005_mailboxes%'",
            "migrations",
            "0005_mailboxes.pre.sql have not",
        ),
        (
            "UPDATE migration.applied SET checksum = 'x' WHERE file_name LIKE '0005_mailboxes%'",
            "migrations",
            "chamberlain/0005_mailboxes.pre.sql were run with another text.",
        ),
        ("ALTER TABLE chamberlain.mailbox DISABLE ROW LEVEL SECURITY", "row-level security", "chamberlain.mailbox"),
        ("ALTER TABLE directory.groups DISABLE ROW LEVEL SECURITY", "row-level security", "directory.groups"),
        ("GRANT UPDATE ON chamberlain.audit TO chamberlain_application", "roles", "the audit trail"),
        ("ALTER TABLE chamberlain.webhook_secret RENAME TO gone", "keys", "It cannot be looked at"),
        ("ALTER TABLE chamberlain.issuer RENAME TO gone", "issuers", "It cannot be looked at"),
        ("REVOKE SELECT ON directory.users FROM chamberlain_application", "directory", "It cannot be looked at"),
    ],
)
async def test_it_finds_what_somebody_did_to_the_database(
    example_databases: Databases, tmp_path: Path, statement: str, name: str, says: str
) -> None:
    async with connected(example_databases.addresses.owner) as connection:
        await connection.execute(statement)

    found = await examine(settings_of(example_databases, tmp_path), nobody)

    assert faults(found) == [name]
    assert any(state is FAULT and says in seen for state, seen in named(found, name))


async def test_a_database_without_anything_is_reported_as_such(databases: Databases, tmp_path: Path) -> None:
    async with connected(databases.addresses.owner) as connection:
        await connection.execute("DROP SCHEMA chamberlain, directory, identity, migration CASCADE")

    found = await examine(settings_of(databases, tmp_path), nobody)

    assert named(found, "migrations")[0][1].startswith("chamberlain/0001_chamberlain.pre.sql, ")
    assert {"keys", "issuers", "tenants", "webhooks", "queue"} <= set(faults(found))


@pytest.mark.parametrize("role", ["owner", "worker"])
async def test_it_rejects_a_role_that_sees_every_tenant(
    example_databases: Databases, tmp_path: Path, role: str
) -> None:
    address = getattr(example_databases.addresses, role)

    found = await examine(settings_of(example_databases, tmp_path, database_url=address), nobody)

    assert "roles" in faults(found)
    assert any(f"chamberlain_{role}, which answers calls" in seen for _, seen in named(found, "roles"))


async def test_it_finds_a_key_that_is_missing(example_databases: Databases, tmp_path: Path, keyring: Keyring) -> None:
    lost = Keyring("lost", {"lost": bytes(32)})
    before = Keyring("before", {"before": bytes(32)})
    gone = Keyring("gone", {"gone": bytes(32)})
    async with connected(example_databases.addresses.worker) as connection:
        await connection.execute(PUT_SECRET, ESTATE, PROJECT_GROUP, keyring.seal(b"whsec_", "somewhere"))
        await connection.execute(
            "UPDATE chamberlain.webhook_secret SET previous_secret = $1, previous_until = now()",
            before.seal(b"whsec_", "somewhere"),
        )
        await connection.execute(
            "INSERT INTO chamberlain.connection (tenant_id, connection_id, adapter, sealed) "
            "VALUES (gen_random_uuid(), gen_random_uuid(), 'embedded', $1)",
            gone.seal(b"password", "somewhere"),
        )
        await connection.execute(
            "INSERT INTO identity.signing_keys (id, sealed, signs_from) VALUES ('1', $1, now())",
            lost.seal(b"key", "somewhere"),
        )

    found = await examine(settings_of(example_databases, tmp_path), nobody)

    ((_, said),) = [each for each in named(found, "keys") if each[0] is FAULT]
    assert '"before", "gone", "lost"' in said


async def test_every_column_that_is_sealed_is_looked_at(databases: Databases) -> None:
    """A new one has to be added to SEALING_KEYS of its own package."""
    statement = """
    SELECT table_schema || '.' || table_name || '.' || column_name AS name FROM information_schema.columns
    WHERE data_type = 'bytea' AND (column_name LIKE '%sealed%' OR column_name LIKE '%secret%') ORDER BY 1
    """
    async with connected(databases.addresses.owner) as connection:
        found = [row["name"] for row in await connection.fetch(statement) if "digest" not in row["name"]]

    assert found == [
        "chamberlain.connection.sealed",
        "chamberlain.console_session.sealed",
        "chamberlain.webhook_secret.previous_secret",
        "chamberlain.webhook_secret.sealed",
        "identity.signing_keys.sealed",
    ]


async def test_it_finds_keys_that_others_can_read_and_makes_none(
    example_databases: Databases, tmp_path: Path, keyring: Keyring
) -> None:
    (tmp_path / "keys").chmod(0o640)

    found = await examine(settings_of(example_databases, tmp_path), nobody)
    without = await examine(settings_of(example_databases, tmp_path / "none"), nobody)

    assert keyring.first
    assert (WARNING, f"Others than its owner can use {tmp_path / 'keys'} (mode 640).") in named(found, "keys")
    assert named(without, "keys")[0][1].startswith(f"There is no {tmp_path / 'none' / 'keys'} yet")
    assert not (tmp_path / "none").exists()


async def test_it_rejects_a_keys_file_that_is_none(example_databases: Databases, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("k1 secret\n")

    found = await examine(settings_of(example_databases, tmp_path), nobody)

    (checkup,) = [each for each in found if each.name == "keys" and each.state is FAULT]
    assert checkup.cure is not None
    assert "line 1" in checkup.cure
    assert "secret" not in checkup.cure.replace("stored secret", "")


async def test_it_asks_every_issuer(databases: Databases, tmp_path: Path) -> None:
    async with run_issuer() as well_known, run_issuer() as other, run_issuer() as empty:
        well_known.keys.append(make_key("k1"))
        other.answers["/.well-known/openid-configuration"] = lambda: (200, b'{"issuer": "x", "jwks_uri": "x"}')
        away = f"http://127.0.0.1:{free_port()}"
        configuration = changed_estate()
        await open_estate(databases, configuration)
        async with connected(databases.addresses.worker) as connection:
            for issuer in (well_known.address, other.address, empty.address, away, "http://issuer.example"):
                await connection.execute(
                    "INSERT INTO chamberlain.issuer (tenant_id, issuer) VALUES ($1, $2)", ESTATE, issuer
                )

        found = await examine(settings_of(databases, tmp_path), nobody)

    said = {seen.split()[0]: (state, seen) for state, seen in named(found, "issuers")}
    assert said[well_known.address] == (WARNING, f"{well_known.address} answers without https.")
    assert said[other.address][0] is FAULT
    assert "of another issuer" in said[other.address][1]
    assert "publishes no key" in said[empty.address][1]
    assert "does not answer" in said[away][1]
    assert "neither https nor on this machine" in said["http://issuer.example"][1]


async def test_the_issuer_of_the_service_is_asked_while_it_runs(example_databases: Databases, tmp_path: Path) -> None:
    found = await examine(settings_of(example_databases, tmp_path), somebody)

    assert named(found, "service")[0][0] is OK
    assert [state for state, _ in named(found, "issuers")] == [FAULT]
    assert "/identity/" in named(found, "issuers")[0][1]


@pytest.mark.parametrize(
    "content", ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
async def test_a_certificate_that_was_cut_off_hides_nothing_else(
    example_databases: Databases, tmp_path: Path, content: str
) -> None:
    (tmp_path / "ca.pem").write_text(content)

    found = await examine(settings_of(example_databases, tmp_path), somebody)

    assert named(found, "certificate")[0][0] is FAULT
    assert [state for state, _ in named(found, "issuers")] == [FAULT]
    assert named(found, "directory")[0][0] is OK


async def test_it_tells_of_webhooks_that_are_disabled_or_cannot_be_called(databases: Databases, tmp_path: Path) -> None:
    configuration = changed_estate(
        project_group={"webhook": {"url": "https://hook.invalid/?token=hidden"}},
        project_team={"webhook": {"url": "https://10.0.0.1/"}},
        sales_department={"webhook": {"url": "https://1.1.1.1/"}},
    )
    await open_estate(databases, configuration)
    async with connected(databases.addresses.worker) as connection:
        await connection.execute(
            "INSERT INTO chamberlain.webhook_state (tenant_id, template_id, disabled_at, disabled_reason) "
            "VALUES ($1, $2, now(), 'The receiver answered 410 (Gone).')",
            ESTATE,
            PROJECT_GROUP,
        )

    found = await examine(settings_of(databases, tmp_path), nobody)

    said = named(found, "webhooks")
    assert [state for state, _ in said] == [WARNING, FAULT, OK]
    assert "The receiver answered 410" in said[0][1]
    assert "is in a network that may not be called" in said[1][1]
    assert said[2][1] == "1 of 3 active webhooks can be called."
    assert not any("hidden" in f"{each.seen}{each.cure}" for each in found)


async def test_it_tells_of_held_jobs_and_of_faults_on_purpose(example_databases: Databases, tmp_path: Path) -> None:
    async with connected(example_databases.addresses.worker) as connection:
        await connection.execute(HOLD, ESTATE)

    settings = settings_of(example_databases, tmp_path, fault_unavailable="50/51", fault_surface=True)
    found = await examine(settings, nobody)

    assert (WARNING, "1 job waits for a person.") in named(found, "queue")
    assert (WARNING, "It makes difficulties on purpose, as settings ask for.") in named(found, "directory")
    assert (WARNING, "Test runs can set its faults over HTTP, as settings ask for.") in named(found, "directory")


@pytest.mark.parametrize(
    ("options", "state", "says"),
    [
        ({"host": "0.0.0.0"}, FAULT, "can be reached from other machines"),  # noqa: S104 - nothing is bound to it.
        ({"host": "10.1.2.3", "allow_embedded_identity": True}, WARNING, "can be reached from other machines"),
        ({"port": 8365, "metrics_port": 8366}, FAULT, "CHAMBERLAIN_METRICS_PORT is 8366"),
        ({"webhook_allow_http": True}, WARNING, "without https"),
        ({"webhook_allowed_networks": "127.0.0.0/8"}, WARNING, "127.0.0.0/8"),
        ({"webhook_allowed_networks": "169.254.0.0/16,10.0.0.0/8"}, WARNING, "169.254.0.0/16"),
        ({"webhook_allowed_networks": "::/0"}, WARNING, "::/0"),
        ({"trusted_proxies": "0.0.0.0/0"}, WARNING, "CHAMBERLAIN_TRUSTED_PROXIES has 0.0.0.0/0"),
        ({"smtp_url": "smtp://me:hidden@mail.example?starttls=never"}, WARNING, "starttls=never"),
        ({}, WARNING, "CHAMBERLAIN_SMTP_URL is not set"),
        ({"base_url": "http://chamberlain.example"}, WARNING, "CHAMBERLAIN_BASE_URL is http://chamberlain.example"),
    ],
)
async def test_it_tells_of_doubtful_settings(
    tmp_path: Path, options: dict[str, object], state: HealthState, says: str
) -> None:
    found = await examine(read_settings(data_dir=tmp_path, **{"port": free_port(), **options}), somebody)

    assert any(one is state and says in seen for one, seen in named(found, "settings"))
    assert not any("hidden" in f"{each.seen}{each.cure}" for each in found)


async def test_secrets_that_others_can_read_are_reported(tmp_path: Path) -> None:
    (tmp_path / "automation.secret").write_text("x")
    (tmp_path / "automation.secret").chmod(0o644)
    (tmp_path / "local.secret").write_text("x")
    (tmp_path / "local.secret").chmod(0o600)
    (tmp_path / "ca.pem").write_text("no certificate")

    found = await examine(read_settings(data_dir=tmp_path, port=free_port()), nobody)

    ((state, said),) = named(found, "data folder")
    assert (state, "automation.secret" in said) == (WARNING, True)
    assert named(found, "certificate")[0][0] is FAULT


async def test_a_look_cannot_write(example_databases: Databases) -> None:
    with pytest.raises(Unavailable) as raised:
        async with looking(example_databases.worker) as tx:
            await tx.execute("DELETE FROM chamberlain.job")

    assert isinstance(raised.value.__cause__, asyncpg.ReadOnlySQLTransactionError)


def doctor(service: Service, *arguments: str) -> tuple[int, str, str]:
    where = ("--port", str(service.port), "--data-dir", str(service.data_dir))
    done = run_command("doctor", *where, *arguments, environment=service.environment)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.heavy
def test_the_command_works_beside_the_running_service(service: Service) -> None:
    code, said, told = doctor(service)

    assert (code, told) == (0, "")
    assert said.splitlines()[-1].startswith("0 faults, ")
    assert f"It answers on 127.0.0.1 port {service.port}" in said
    assert f"https://localhost:{service.port + 1}/identity/" in said


@pytest.mark.heavy
def test_the_command_tells_programs_the_same(service: Service) -> None:
    code, said, told = doctor(service, "--json")

    document = json.loads(said)
    assert (code, told, document["state"]) == (0, "", "warning")
    assert {tuple(check) for check in document["checks"]} == {("name", "state", "seen", "cure")}
    secrets = [(service.data_dir / name).read_text().strip() for name in ("local.secret", "automation.secret", "keys")]
    assert not any(secret.split()[-1] in said for secret in secrets)


@pytest.mark.heavy
def test_the_command_starts_the_database_of_a_service_that_is_stopped_and_ends_with_1_for_a_fault() -> None:
    with restarted_service() as service:
        service.stop()
        (service.data_dir / "keys").rename(service.data_dir / "moved")

        code, said, told = doctor(service)
        running = (service.data_dir / "postgres" / "data" / "postmaster.pid").exists()

    assert (code, told) == (1, "")
    assert "its database was started for this look" in said
    assert "with which stored secrets are sealed" in said
    assert "1 fault, " in said.splitlines()[-1]
    assert not running


@pytest.mark.heavy
def test_the_command_makes_nothing_where_there_is_nothing(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"

    done = run_command("doctor", "--port", str(free_port()), "--data-dir", str(nowhere))

    assert (done.returncode, done.stderr) == (0, "")
    assert "There is no embedded database" in done.stdout
    assert not nowhere.exists()


@pytest.mark.heavy
def test_whoever_else_listens_on_the_port_is_reported(tmp_path: Path) -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port + 1)):
        done = run_command("doctor", "--port", str(port), "--data-dir", str(tmp_path))

    assert done.returncode == 1
    assert f"Cannot listen on 127.0.0.1 port {port + 1}" in done.stdout
