"""The adapter between the ports and the embedded directory.

The directory itself is a separate product in `chamberlain.embedded`. No decision about the desired state may be here.
"""

from chamberlain.directory.embedded.adoptions import EmbeddedAdoptions, FaultyAdoptions
from chamberlain.directory.embedded.directory import EmbeddedDirectory, FaultyDirectory
from chamberlain.directory.embedded.groups import group_id_of
from chamberlain.directory.embedded.guests import EmbeddedGuests, FaultyGuests
from chamberlain.directory.embedded.marks import KEY_MEMBER
from chamberlain.directory.embedded.people import EmbeddedPeople
from chamberlain.directory.embedded.subjects import EmbeddedSubjects

__all__ = [
    "KEY_MEMBER",
    "EmbeddedAdoptions",
    "EmbeddedDirectory",
    "EmbeddedGuests",
    "EmbeddedPeople",
    "EmbeddedSubjects",
    "FaultyAdoptions",
    "FaultyDirectory",
    "FaultyGuests",
    "group_id_of",
]
