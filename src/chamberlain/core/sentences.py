# SPDX-License-Identifier: Apache-2.0
"""Sentences with values: one template makes both.

A client may phrase an error or a reason in its own words. It needs the numbers and words of the sentence for that. So a
sentence is always formatted from its values and cannot differ from them.
"""

from collections.abc import Mapping

# A number, a word or text, or a list of words.
Word = int | str | tuple[str, ...]
Values = Mapping[str, Word]

NO_VALUES: Values = {}


def phrase(template: str, values: Values) -> str:
    """Format a sentence. A list is joined with commas.

    Literal braces in the template are doubled.
    """
    return template.format_map({name: _written(each) for name, each in values.items()})


def _written(each: Word) -> int | str:
    return ", ".join(each) if isinstance(each, tuple) else each
