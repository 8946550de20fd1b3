"""Differences: what of a thing that is administered goes on record when it is changed."""

from collections.abc import Collection, Mapping

from chamberlain.core.values import Json

Content = Mapping[str, Json]


def differences(before: Content, after: Content, *, also: Collection[str] = ()) -> tuple[Content, Content]:
    """What changed and nothing else, as it was and as it is; a member that was not there or is not any more is
    None. Members named in `also` have changed in a way that does not show."""
    names = [name for name in {**before, **after} if name in also or before.get(name) != after.get(name)]
    return {name: before.get(name) for name in names}, {name: after.get(name) for name in names}
