"""Provisioning: a queued request becomes a group that is found by the request's id."""

from tests.estates import ADA, BEN, Estate


async def test_it_works(estate: Estate) -> None:
    accepted = await estate.request("Apollo", owners=[str(BEN)])
    before = await estate.group(accepted.request_id)

    await estate.work()

    group = await estate.group(accepted.request_id)
    record = await estate.record(accepted.request_id)
    assert before is None
    assert group is not None
    assert group.owners == {ADA, BEN}
    assert record.state == "succeeded"
    assert record.result is not None
    assert record.result.id == group.id
