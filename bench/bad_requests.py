# SPDX-License-Identifier: Apache-2.0
"""Do bad requests hurt good ones that come with them?

Good ones with 32 connections: alone, beside as many other good ones, and beside as many that are wrong in all sorts of
ways. bench/README.md says what the columns mean.
"""

import json
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx2

from bench.measuring.arguments import read_arguments
from bench.measuring.beside import run_beside
from bench.measuring.contestant import Contestant, contestant_of
from bench.measuring.load import Load
from bench.measuring.processor import seconds_used
from bench.measuring.question import BENCH
from bench.measuring.report import Row, report
from bench.measuring.run import check_number, check_retrievable, run_number, wait_until_drained
from bench.measuring.services import running_service
from bench.submit_group import QUESTION
from tests.services import ADA_MAIL, API, GROUP_TEMPLATE, TLS

COLUMNS = {
    "ratio": ".2f",
    "good": ",.0f",
    "p50": ".2f",
    "p99": ".2f",
    "others": ",.0f",
    "others p99": ".2f",
    "cpu": ".0f",
}
CONNECTIONS = 32
SCOPE = f"{API}/collab/App.ReadWrite.All {API}/mail/App.ReadWrite.All"
GROUPS, MAILBOXES = "/collab/v1/groups/", "/mail/v1/mailboxes/"
SHARED_TEMPLATE, GUEST_TEMPLATE = "7e000000-0000-4000-8000-000000000001", "7e000000-0000-4000-8000-000000000021"
NOBODY = "0000dead-0000-4000-8000-000000000000"
TAKEN = {"name": "taken", "displayName": "Taken", "templateId": SHARED_TEMPLATE, "permissions": {}}

Rounds = dict[str, list[Mapping[str, float]]]


@dataclass(frozen=True, slots=True)
class Bad:
    """A request that is wrong in one way, and how it is answered: by the status, and the code of the document or, where
    there are several faults, of the first one."""

    body: str
    status: int
    code: str
    path: str = GROUPS
    is_signed_in: bool = True


def _group(**members: object) -> str:
    """A group that would be good without what is named."""
    return json.dumps({"displayName": "Bad", "templateId": GROUP_TEMPLATE} | members)


BAD = (
    Bad(_group()[:-1], 400, "notJson"),
    Bad("[]", 400, "notAnObject"),
    Bad(json.dumps({"templateId": GROUP_TEMPLATE}), 400, "missingProperty"),
    Bad(_group(displayNam="x"), 400, "unknownProperty"),
    Bad(_group(members="everybody"), 400, "wrongType"),
    Bad(_group(displayName="x" * 257), 400, "outOfBounds"),
    Bad(_group(displayName="x\0"), 400, "invalidText"),
    Bad(_group(templateId="7e"), 400, "malformedId"),
    Bad(_group(), 401, "tokenMissing", is_signed_in=False),
    Bad(_group(templateId=NOBODY), 422, "templateUnknown"),
    Bad(_group(templateId=GUEST_TEMPLATE), 422, "templateOfOtherKind"),
    Bad(_group(owners=[NOBODY]), 422, "userUnknown"),
    Bad(_group(labelId="none"), 422, "labelUnknown"),
    # Found out in the batch, among those that are good.
    Bad(json.dumps(TAKEN), 409, "nameTaken", path=MAILBOXES),
)


def main() -> None:
    """Read the arguments of the command line, measure and report."""
    asked = read_arguments(__doc__, quick={"rounds": 1, "seconds": 1}, rounds=3, seconds=2)
    rounds: Rounds = defaultdict(list)
    with running_service() as service, tempfile.TemporaryDirectory() as folder:
        contestant = contestant_of("worker within", service)
        _look_at_each(contestant)
        bad = _bad_load(contestant, Path(folder, "bad"))
        _measure(contestant, None, 2)
        for _ in range(asked.rounds):
            good = _measure(contestant, _good_load(contestant), asked.seconds)
            rounds["alone"].append({**_measure(contestant, None, asked.seconds)})
            rounds["beside good ones"].append({**good, "ratio": 1.0})
            beside = _measure(contestant, bad, asked.seconds)
            rounds["beside bad ones"].append({**beside, "ratio": beside["good"] / good["good"]})
    report("bad_requests", [Row(*each) for each in rounds.items()], columns=COLUMNS)


def _headers(contestant: Contestant, bad: Bad) -> dict[str, str]:
    signed_in = contestant.service.headers(ADA_MAIL, SCOPE) if bad.is_signed_in else {}
    return {**signed_in, "content-type": "application/json"}


def _look_at_each(contestant: Contestant) -> None:
    """Check that each bad request gets the error that describes it."""
    taken = httpx2.post(
        f"{contestant.url}{MAILBOXES}", json=TAKEN, headers=contestant.service.headers(ADA_MAIL, SCOPE), verify=TLS
    )
    assert taken.status_code == 202, taken.text
    for bad in BAD:
        answer = httpx2.post(
            f"{contestant.url}{bad.path}", content=bad.body, headers=_headers(contestant, bad), timeout=30, verify=TLS
        )
        told = answer.json()
        first = told["errors"][0]["code"] if told.get("errors") else told["code"]
        assert (answer.status_code, first) == (bad.status, bad.code), (bad, answer.text)


def _good_load(contestant: Contestant) -> Load:
    return QUESTION.load(contestant.service, contestant.url, next(run_number))


def _bad_load(contestant: Contestant, file: Path) -> Load:
    file.write_text("\n".join(f"{bad.status}\t{bad.path}\t{int(bad.is_signed_in)}\t{bad.body}" for bad in BAD))
    environment = {"BENCH_TOKEN": contestant.service.token(ADA_MAIL, SCOPE), "BENCH_BAD": str(file)}
    return Load(BENCH / "bad_requests.lua", contestant.url, environment)


def _measure(contestant: Contestant, others: Load | None, seconds: int) -> dict[str, float]:
    """Good requests, and others beside them; every good one is there in the end."""
    made_before, used_before = contestant.database.count(QUESTION.made), seconds_used(contestant.processes)
    loads = [_good_load(contestant), *([others] if others else [])]
    good, *beside = run_beside([(load, CONNECTIONS) for load in loads], seconds=seconds)
    wait_until_drained(QUESTION, contestant)
    is_bad = others is not None and others.script.stem == "bad_requests"
    accepted = good.requests + sum(each.requests for each in beside if not is_bad)
    check_number(accepted, contestant.database.count(QUESTION.made) - made_before, 2 * CONNECTIONS)
    check_retrievable(QUESTION, contestant)
    used = seconds_used(contestant.processes) - used_before
    figures = {"good": good.rate, "p50": good.p50, "p99": good.p99}
    if beside:
        figures |= {"others": beside[0].rate, "others p99": beside[0].p99}
    return {**figures, "cpu": 1e6 * used / (good.requests + sum(each.requests for each in beside))}


if __name__ == "__main__":
    main()
