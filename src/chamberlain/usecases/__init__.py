"""What the service does: one file one verb, named noun_verb, one transaction each.

May he? Is it right? Then everything is written at once. A use case reads like the sentence in the manual: what it
decides is in `rules`, what it writes in `store`, and no use case calls another.
"""
