"""Writing YAML that `documents.py` reads back as the same value, and that people like to read."""

from collections.abc import Mapping, Sequence

import yaml

from chamberlain.configuration.yaml import plain_value


def write_document(value: object) -> str:
    """The value as YAML: objects, lists, texts, numbers, true, false and null."""
    return yaml.dump(
        value,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        # A long text stays in its line.
        width=float("inf"),
    )


class _Dumper(yaml.SafeDumper):
    """Without what we do not read: anchors, and plain texts that would be read as something else."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 (its parent's)
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 (so)
        # Lists stand below what they belong to, not beside it.
        super().increase_indent(flow, indentless=False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    is_plain = plain_value(text) == text and text.isprintable()
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if is_plain else '"')


def _list(dumper: yaml.SafeDumper, items: Sequence[object]) -> yaml.SequenceNode:
    """In one line when all of it is short and simple."""
    is_simple = all(isinstance(item, str | int | float | None) for item in items)
    is_short = sum(len(str(item)) for item in items) <= _SHORT
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=is_simple and is_short)


def _object(dumper: yaml.SafeDumper, members: Mapping[str, object]) -> yaml.MappingNode:
    return dumper.represent_mapping("tag:yaml.org,2002:map", members.items(), flow_style=not members)


# What an id and its name take.
_SHORT = 80

_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)
_Dumper.add_representer(dict, _object)
