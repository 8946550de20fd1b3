"""The adapter for the embedded directory: our words on one side, its words on the other.

Here lives what translates between the two. The directory itself is a product of its own and may not live here; nor may
anything that decides what is wanted.
"""

from chamberlain.directory.embedded.adoptions import EmbeddedAdoptions, FaultyAdoptions
from chamberlain.directory.embedded.directory import EmbeddedDirectory, FaultyDirectory
from chamberlain.directory.embedded.groups import KEY_MEMBER, group_id_of
from chamberlain.directory.embedded.guests import EmbeddedGuests, FaultyGuests
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
