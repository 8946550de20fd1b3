"""From a bearer token to the caller that it speaks for.

Here lives all that proves a token: its form, its issuer's keys, its signature, audience and times, and the absolute
names of the permissions it carries. What a caller may do with them is decided in the rules; tokens are made elsewhere.
"""
