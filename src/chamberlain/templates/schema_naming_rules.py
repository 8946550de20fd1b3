"""Naming rules as templates of groups, teams and mailboxes write them."""

from collections.abc import Iterator

from chamberlain.core.errors import Fault
from chamberlain.templates.naming import NamingRuleInvalid, parse_naming_rule


def naming_rule_faults(text: str, pointer: str) -> Iterator[Fault]:
    """What is wrong with a naming rule, if anything is."""
    try:
        parse_naming_rule(text)
    except NamingRuleInvalid as error:
        yield Fault(pointer, "ruleInvalid", f"{error.detail} (Character {error.position + 1}.)")
