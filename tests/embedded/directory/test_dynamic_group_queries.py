# SPDX-License-Identifier: Apache-2.0
from itertools import product

import pytest

from chamberlain.core.membership_rules import RuleInvalid, read_pattern, read_rule
from chamberlain.embedded.directory.dynamic_groups import rules_by_user, users_by_rule
from chamberlain.embedded.directory.load import load
from tests.databases import Databases
from tests.embedded.directory.sample_data import ADA, BEN, CLEO, GIL, HOUSE, SECTION, ZOE


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ('user.department -eq "SALES"', {ADA, BEN}),
        ('user.department -ne "sales"', {CLEO, GIL}),
        ('user.department -startsWith "sa"', {ADA, BEN}),
        ('user.department -notStartsWith "sa"', {CLEO, GIL}),
        ('user.department -contains "AL"', {ADA, BEN}),
        ('user.department -contains "%"', set()),
        ('user.department -in ["finance", "it"]', {CLEO}),
        ('user.department -notIn ["finance", "it"]', {ADA, BEN, GIL}),
        ("user.department -eq null", {GIL}),
        ("user.department -ne null", {ADA, BEN, CLEO}),
        ('user.department -match "^s.l[a-f]s$"', {ADA, BEN}),
        ('user.department -notMatch "^(s|f)"', {GIL}),
        ('user.displayName -match "(a+)+z"', set()),
        ("user.accountEnabled -eq false", {CLEO}),
        ("user.accountEnabled -ne false", {ADA, BEN, GIL}),
        ('user.userType -eq "guest"', {GIL}),
        (f'user.objectId -eq "{ADA}"', {ADA}),
        ('user.department -eq "Sales" -and -not (user.displayName -startsWith "Ada")', {BEN}),
        ('user.department -eq "Finance" -or user.userType -eq "Guest"', {CLEO, GIL}),
        ('user.displayName -eq "\' OR true --"', set()),
        # The directory has no devices: rules about devices select no user, even negated.
        ('device.deviceOSType -eq "Linux"', set()),
        ('-not (device.deviceOSType -eq "Linux")', set()),
    ],
)
async def test_it_works(databases: Databases, rule: str, expected: set[object]) -> None:
    await load(databases.worker.pool, SECTION)

    assert set(await users_by_rule(databases.worker.pool, HOUSE, rule)) == expected


PIECES = ("a", "Z", "0", "-", "^", "$", ".", "*", "+", "?", "(", ")", "[", "]", "[^", "|", r"\W", "ä", "a-z", "[a-z]")


def is_valid(pattern: str) -> str | None:
    try:
        return read_pattern(pattern, 1)
    except RuleInvalid:
        return None


async def test_it_finds_the_rules_that_select_a_user(databases: Databases) -> None:
    await load(databases.worker.pool, SECTION)
    texts = ['user.department -eq "sales"', 'device.displayName -ne "x"', "user.accountEnabled -eq false"] * 40

    found = await rules_by_user(
        databases.worker.pool, HOUSE, [ADA, CLEO, GIL, ZOE], [read_rule(text) for text in texts]
    )

    assert set(found) == {(at, ADA) for at in range(0, 120, 3)} | {(at, CLEO) for at in range(2, 120, 3)}


async def test_the_database_accepts_every_valid_pattern(databases: Databases) -> None:
    written = ("".join(several) for several in product(PIECES, repeat=3))
    patterns = [pattern for pattern in map(is_valid, written) if pattern is not None]
    assert len(patterns) > 1000

    # The database validates a pattern when it is used.
    used = await databases.worker.pool.fetchval("SELECT count('a' ~* p) FROM unnest($1::text[]) AS p", patterns)

    assert used == len(patterns)


# Patterns that a backtracking engine, or this one, would not finish.
HARD = [
    "(a+)+z", "(a|a)*z", "(.*)*" * 40 + "z", "((a+)+)+" * 30 + "!", "a?" * 80 + "a" * 80, "(x+x+)+y",
    "(" * 80 + "a" + ")*" * 80, ".*a" + "." * 250, "(a|b)*a" + "(a|b)" * 49, r"[\w\W]*" * 30,
    "(^|$|a*)" * 6, "(a*|b*)*" * 8 + "(^|$|a*)" * 6, "(" * 6 + "(|^|$)" * 6 + ")" * 6,
]  # fmt: skip


async def test_it_matches_in_bounded_time(databases: Databases) -> None:
    patterns = [pattern for pattern in map(is_valid, HARD) if pattern is not None]
    assert len(patterns) == len(HARD)

    async with databases.worker.pool.acquire() as connection:
        # Each takes a few milliseconds; the limit allows for a busy machine.
        await connection.execute("SET statement_timeout = '20s'")
        used = await connection.fetchval("SELECT count(repeat('ab', 512) ~* p) FROM unnest($1::text[]) AS p", patterns)
        await connection.execute("RESET statement_timeout")

    assert used == len(patterns)
