# SPDX-License-Identifier: Apache-2.0
"""A program with the models of datamodel-code-generator: it parses the answers of all lists, and one item of each."""

import json
import os
from pathlib import Path
from typing import Any

import generated_schemas
import httpx

# A JSON value; the generated models are under test.
Json = Any


def main() -> None:
    paths = json.loads(Path(os.environ["DOCUMENT"]).read_text())["paths"]
    parsed = {}
    with httpx.Client(
        base_url=os.environ["API_URL"], headers={"authorization": f"Bearer {os.environ['TOKEN']}"}
    ) as api:
        for path, item in paths.items():
            if "{" in path or (name := model_of(item.get("get"))) is None:
                continue
            answer = parse(api, path, name, required_query(item["get"]))
            parsed[path] = len(answer.get("items", [0]))
            one = next(
                (each for each in paths if each.startswith(f"{path}{{") and each.count("/") == path.count("/") + 1), ""
            )
            if answer.get("items") and (name := model_of(paths.get(one, {}).get("get"))) is not None:
                parse(api, f"{path}{answer['items'][0].get('id') or answer['items'][0]['requestId']}/", name)
                parsed[one] = 1
    print(json.dumps(parsed))


def model_of(operation: Json) -> str | None:
    """The model of an operation's JSON; None without one."""
    content = (operation or {}).get("responses", {}).get("200", {}).get("content", {}).get("application/json")
    return None if content is None else content["schema"].get("$ref", "").rpartition("/")[2] or None


def required_query(operation: Json) -> dict[str, str]:
    """The beginning of a name of the sample data for each query parameter that is required."""
    return {
        each["name"]: "ada"
        for each in operation.get("parameters", [])
        if each.get("in") == "query" and each.get("required")
    }


def parse(api: httpx.Client, path: str, name: str, query: dict[str, str] | None = None) -> Json:
    answer = api.get(path, params=query)
    answer.raise_for_status()
    getattr(generated_schemas, name).model_validate_json(answer.text)
    return answer.json()


if __name__ == "__main__":
    main()
