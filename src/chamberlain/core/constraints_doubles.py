"""What stands in a list twice, where once is all that it can mean."""

from collections.abc import Hashable, Iterable, Iterator

from chamberlain.core.constraints_pointers import child
from chamberlain.core.errors import Fault


def doubles(values: Iterable[Hashable], pointer: str, *, member: str | None = None) -> Iterator[Fault]:
    """A fault for each value that stands there before. `pointer` is the place of the list; `member` is where in an item
    the value is, if the item is more than that."""
    seen: dict[Hashable, int] = {}
    for place, value in enumerate(values):
        first = seen.setdefault(value, place)
        if first != place:
            here = child(pointer, place)
            detail = f"The same is there already, at place {first}, counted from 0. Leave one of the two out."
            yield Fault(here if member is None else child(here, member), "ruleInvalid", detail)


def doubled_words(words: Iterable[str], pointer: str) -> Iterator[Fault]:
    """The same for words that others read without regard to capitals."""
    return doubles([word.casefold() for word in words], pointer)
