# SPDX-License-Identifier: Apache-2.0
"""Write the software bill of materials of a release: CycloneDX 1.6, from requirements.lock.

The same lock, version and time give the same bytes. Licences come from the metadata of the installed packages.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements.lock"
SERVICE, SDK = "chamberlain", "chamberlain-client"
BUILD_ONLY = "chamberlain:build"

_REQUIREMENT = re.compile(r"(?P<name>[a-z0-9-]+)==(?P<version>[^ ;]+)(?: ; (?P<marker>.+))? \\")
_VIA = re.compile(r"    # (?:via |  )(?P<parent>[a-z0-9-]+)(?: \(pyproject\.toml(?P<group>:\w+)?\))?")


@dataclass(frozen=True, slots=True)
class Package:
    """A package of the lock. `parents` are the packages that need it; those with a marker need not be installed."""

    name: str
    version: str
    is_optional: bool
    parents: tuple[str, ...]

    @property
    def reference(self) -> str:
        return f"pkg:pypi/{self.name}@{self.version}"


def main(arguments: list[str]) -> int:
    """Write the bill of materials of a version at a time in seconds: FILE VERSION SECONDS."""
    file, version, seconds = arguments
    document = describe(read_lock(LOCK.read_text(encoding="utf-8")), version, int(seconds))
    Path(file).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0


def read_lock(text: str) -> list[Package]:
    """Read the packages of a lock that uv has written, without those that only a build needs."""
    found: list[Package] = []
    for line in text.splitlines():
        if requirement := _REQUIREMENT.fullmatch(line):
            found.append(Package(requirement["name"], requirement["version"], bool(requirement["marker"]), ()))
        elif found and (via := _VIA.fullmatch(line)):
            last, parent = found[-1], via["parent"] + (via["group"] or "")
            found[-1] = Package(last.name, last.version, last.is_optional, (*last.parents, parent))
    return [package for package in found if package.parents != (BUILD_ONLY,)]


def describe(packages: list[Package], version: str, seconds: int) -> dict[str, Any]:
    """Describe a release as a CycloneDX document."""
    service, sdk = (Package(name, version, is_optional=False, parents=()) for name in (SERVICE, SDK))
    libraries = sorted((Package(SDK, version, is_optional=False, parents=(SERVICE,)), *packages), key=lambda p: p.name)
    references = {package.name: package.reference for package in (service, sdk, *packages)}
    needed: defaultdict[str, list[str]] = defaultdict(list)
    for package in libraries:
        for parent in package.parents:
            needed[references[parent]].append(package.reference)
    described = {
        "components": [_component(package, "library") for package in libraries],
        "dependencies": [
            {"ref": reference, "dependsOn": sorted(needed[reference])} for reference in sorted(references.values())
        ],
    }
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": uuid5(NAMESPACE_URL, json.dumps(described)).urn,
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(seconds, UTC).isoformat(),
            "component": _component(service, "application"),
        },
        **described,
    }


def _component(package: Package, kind: str) -> dict[str, Any]:
    described = {
        "type": kind,
        "bom-ref": package.reference,
        "name": package.name,
        "version": package.version,
        "purl": package.reference,
        "scope": "optional" if package.is_optional else "required",
    }
    licence = "Apache-2.0" if package.name in {SERVICE, SDK} else _licence(package.name)
    return described | ({"licenses": [{"expression": licence}]} if licence else {})


def _licence(name: str) -> str | None:
    """Return the SPDX expression of an installed package, if it has one."""
    try:
        return metadata(name)["License-Expression"]
    except (PackageNotFoundError, KeyError):
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
