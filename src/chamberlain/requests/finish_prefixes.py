"""The prefix under which a request marks what it makes in the directory."""


def prefix_of_request(request: str, at: str) -> str:
    """Give the SQL for it: the prefix that is on record, else the one that was in force when it was accepted.

    `request` is the alias of the request, `at` the time of acceptance; the tenant has the alias `t`. Most tenants never
    change their prefix, and for them no function is called.
    """
    then = f"chamberlain.prefix_at({at}, t.extension_prefix, t.former_prefixes, t.former_until)"
    return (
        f"coalesce({request}.extension_prefix, "
        f"CASE WHEN t.former_prefixes = '{{}}' THEN t.extension_prefix ELSE {then} END)"
    )
