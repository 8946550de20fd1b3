# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from chamberlain.core.ids import GroupId
from chamberlain.templates.models import Audience, TemplateHead, TemplateKind
from chamberlain.templates.rules import NamingRuleInvalid, compile_group_template, template_fault, template_not_allowed
from tests.groups.group_values import ADA, GROUP_HEAD, STAFF, TEAM_HEAD, TEMPLATE

pytestmark = pytest.mark.pure

KINDS = frozenset({TemplateKind.GROUP, TemplateKind.TEAM})


@pytest.mark.parametrize("head", [GROUP_HEAD, TEAM_HEAD])
def test_it_works(head: TemplateHead) -> None:
    assert template_fault(head, KINDS) is None


@pytest.mark.parametrize(
    ("head", "code"),
    [
        (None, "templateUnknown"),
        (replace(GROUP_HEAD, active=False), "templateInactive"),
        (replace(GROUP_HEAD, kind=TemplateKind.ROOM), "templateOfOtherKind"),
        (replace(GROUP_HEAD, kind=TemplateKind.GUEST, active=False), "templateOfOtherKind"),
    ],
)
def test_it_rejects_templates_that_cannot_make_a_group(head: TemplateHead | None, code: str) -> None:
    fault = template_fault(head, KINDS)

    assert fault is not None
    assert (fault.pointer, fault.code) == ("/templateId", code)


@pytest.mark.parametrize(
    ("audience", "member_of", "is_allowed"),
    [
        (None, frozenset(), True),
        (Audience(frozenset({ADA}), frozenset()), frozenset(), True),
        (Audience(frozenset(), frozenset({STAFF})), frozenset({STAFF}), True),
        (Audience(frozenset(), frozenset({STAFF})), frozenset(), False),
        (Audience(frozenset(), frozenset()), frozenset({STAFF}), False),
    ],
)
def test_it_holds_users_to_the_audience(
    audience: Audience | None, member_of: frozenset[GroupId], *, is_allowed: bool
) -> None:
    refusal = template_not_allowed(audience, ADA, member_of)

    assert (refusal is None) is is_allowed
    assert refusal is None or refusal.code == "templateNotAllowed"


@pytest.mark.parametrize(
    ("display_name_rule", "mail_nickname_rule", "needs"),
    [
        ("{input}", None, (False, False)),
        ("{input}", "{input}", (False, False)),
        ("{input}{counter:2}", None, (True, False)),
        ("{input}", "{input}{counter:2}", (True, False)),
        ("{input}{user.department}", "{input}", (False, True)),
        ("{input}", "{input}{user.department}", (False, True)),
    ],
)
def test_it_knows_what_the_names_of_a_template_need(
    display_name_rule: str, mail_nickname_rule: str | None, needs: tuple[bool, bool]
) -> None:
    template = replace(TEMPLATE, display_name_rule=display_name_rule, mail_nickname_rule=mail_nickname_rule)

    compiled = compile_group_template(template)

    assert (compiled.needs_numbers, compiled.needs_properties) == needs


def test_it_rejects_a_template_whose_rule_is_none() -> None:
    with pytest.raises(NamingRuleInvalid):
        compile_group_template(replace(TEMPLATE, mail_nickname_rule="conf-"))
