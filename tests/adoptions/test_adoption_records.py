# SPDX-License-Identifier: Apache-2.0
"""Records of adoptions in the audit trail."""

from uuid import UUID

import pytest

from chamberlain.adoptions.models import AdoptionFilter, AdoptionRecord, AdoptionRule, AdoptionState, confirmed
from chamberlain.auth.models import Actor, ActorType, Editor
from chamberlain.core.ids import AdoptionId, TraceId
from chamberlain.core.values import Json
from chamberlain.requests.models import TemplateReference
from chamberlain.templates.models import TemplateKind
from tests.adoptions.adoption_values import ADA, MOMENT, TEMPLATE, TENANT

pytestmark = pytest.mark.pure

FIRST, SECOND = UUID(int=1), UUID(int=2)
# Far apart, so that a set has them in another order.
MANY = [UUID(int=number << 90) for number in range(1, 60)]


@pytest.mark.parametrize(
    ("chosen", "shown"),
    [
        (AdoptionFilter(), {"q": None, "domain": None, "ids": None}),
        (
            AdoptionFilter(prefix="pier", domain="estate.example"),
            {"q": "pier", "domain": "estate.example", "ids": None},
        ),
        (AdoptionFilter(ids=frozenset()), {"q": None, "domain": None, "ids": []}),
        (AdoptionFilter(ids=frozenset({SECOND, FIRST})), {"q": None, "domain": None, "ids": [str(FIRST), str(SECOND)]}),
        (AdoptionFilter(ids=frozenset(MANY)), {"q": None, "domain": None, "ids": [str(each) for each in MANY]}),
    ],
)
def test_a_confirmation_shows_the_whole_rule(chosen: AdoptionFilter, shown: dict[str, Json]) -> None:
    record = AdoptionRecord(
        id=AdoptionId(UUID(int=3)),
        tenant_id=TENANT,
        rule=AdoptionRule(TemplateKind.SHARED, TEMPLATE, chosen),
        template=TemplateReference(TEMPLATE, "Shared"),
        template_revision=1,
        state=AdoptionState.RUNNING,
        total=4,
        adopted=0,
        refused=0,
        released=0,
        editor=Editor(Actor(ActorType.USER, ADA, "Ada"), None, TraceId("0" * 32), "192.0.2.1"),
        created_at=MOMENT,
        updated_at=MOMENT,
        finished_at=None,
    )

    change = confirmed(record)

    assert (change.action, change.client_address) == ("adoption.confirm", "192.0.2.1")
    assert change.before is None
    assert change.after == {
        "state": "running",
        "kind": TemplateKind.SHARED,
        "templateId": str(TEMPLATE),
        "filter": shown,
        "total": 4,
    }
