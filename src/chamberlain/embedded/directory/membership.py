def condition_of(rule: str) -> tuple[str, list[object]]:
    return "false", []
