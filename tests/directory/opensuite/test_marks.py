# SPDX-License-Identifier: Apache-2.0
"""Changes that set and remove the mark of a request."""

from uuid import UUID

import pytest

from chamberlain.core.errors import Rejected
from chamberlain.core.ids import RequestId
from chamberlain.directory.models import ObjectType
from chamberlain.directory.opensuite.adoptions import marked, unmarked
from chamberlain.directory.opensuite.entry import Entry, Values
from chamberlain.directory.opensuite.ldap import Operation
from chamberlain.directory.port import Marking
from tests.directory.opensuite.mailbox_entry import ID, entry_of
from tests.directory.sample_directory import TENANT

pytestmark = pytest.mark.pure

EXTENSION = "chamberlain_mailbox"
OWN, OTHER = (RequestId(UUID(int=number)) for number in (1, 2))
MARKING = Marking(TENANT, ObjectType.MAILBOX, ID, EXTENSION, OWN)
OWN_MARK, OTHER_MARK = "extension=chamberlain_mailbox", "extension=other_mailbox"


def entry(request_id: RequestId | None, *marks: str, object_class: str = "chamberlainMailbox") -> Entry:
    own: Values = {} if request_id is None else {"chamberlainRequestId": [str(request_id)]}
    return entry_of({"objectClass": ["inetOrgPerson", object_class], "chamberlainMark": marks, **own})


def test_it_works() -> None:
    assert marked(MARKING, entry(None, object_class="person")) == [
        (Operation.ADD, "objectClass", ["chamberlainManaged"]),
        (Operation.ADD, "chamberlainMark", [OWN_MARK]),
        (Operation.ADD, "chamberlainRequestId", [str(OWN)]),
    ]
    assert unmarked(MARKING, entry(OWN, OWN_MARK)) == [
        (Operation.DELETE, "chamberlainRequestId", [str(OWN)]),
        (Operation.DELETE, "chamberlainMark", [OWN_MARK]),
    ]


@pytest.mark.parametrize("object_class", ["chamberlainManaged", "chamberlainMailbox", "CHAMBERLAINGROUP"])
def test_a_class_that_permits_marks_is_kept(object_class: str) -> None:
    assert "objectClass" not in [name for _, name, _ in marked(MARKING, entry(None, object_class=object_class))]


def test_marking_again_changes_nothing() -> None:
    assert marked(MARKING, entry(OWN, OWN_MARK)) == []


@pytest.mark.parametrize(
    ("present", "code"),
    [
        (None, "gone"),
        (entry(OTHER, OWN_MARK), "alreadyManaged"),
        (entry(OWN, OTHER_MARK), "alreadyManaged"),
        (entry(None, OTHER_MARK, "templateId=1"), "alreadyManaged"),
    ],
)
def test_refusals(present: Entry | None, code: str) -> None:
    with pytest.raises(Rejected) as rejected:
        marked(MARKING, present)

    assert rejected.value.code == code


@pytest.mark.parametrize("present", [None, entry(None), entry(OTHER, OWN_MARK), entry(OWN, OTHER_MARK)])
def test_other_marks_are_not_removed(present: Entry | None) -> None:
    assert unmarked(MARKING, present) == ()


def test_metadata_leaves_with_the_mark_and_guest_rules_stay() -> None:
    changes = unmarked(MARKING, entry(OWN, OWN_MARK, "metadata={}", "templateId=1"))

    assert changes == [
        (Operation.DELETE, "chamberlainRequestId", [str(OWN)]),
        (Operation.DELETE, "chamberlainMark", ["metadata={}"]),
    ]
