"""What an installation looks like from outside and inside, for whoever looks after it.

One file for each thing that is looked at. Each names the faults that it expects and tells them; none hides another.
Nothing here writes, and no secret is in what it says.
"""
