# SPDX-License-Identifier: Apache-2.0
"""The LDAP directory of a suite, as its operator reads and changes it: the programs ldapsearch and ldapmodify."""

import base64
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from deploy.suite.folder import Suite


@dataclass(frozen=True, slots=True)
class SuiteDirectory:
    """Uses the root account, so that no rule of access is in the way."""

    suite: Suite

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Each call has a connection of its own."""

    def find(self, filter_: str, *attributes: str) -> list[Mapping[str, list[str]]]:
        """The entries that match a filter, with their attributes by name."""
        text = self._run(
            "ldapsearch", "-LLL", "-o", "ldif-wrap=no", "-b", self.suite.base, filter_, *(attributes or ("*", "+"))
        )
        return [entry for part in text.split("\n\n") if (entry := _parsed(part))]

    def one(self, filter_: str, *attributes: str) -> Mapping[str, list[str]]:
        """The only entry that matches a filter."""
        [found] = self.find(filter_, *attributes)
        return found

    def replace(self, dn: str, attribute: str, *values: str) -> None:
        """Replace the values of an attribute by hand."""
        lines = [
            f"dn: {dn}",
            "changetype: modify",
            f"replace: {attribute}",
            *(f"{attribute}: {each}" for each in values),
        ]
        self._run("ldapmodify", input_="\n".join(lines) + "\n")

    def add(self, dn: str, values: Mapping[str, str | Sequence[str]]) -> None:
        """Add an entry by hand."""
        lines = [f"dn: {dn}"]
        for name, value in values.items():
            lines += [f"{name}: {each}" for each in ((value,) if isinstance(value, str) else value)]
        self._run("ldapadd", input_="\n".join(lines) + "\n")

    def rename(self, dn: str, name: str) -> None:
        """Rename an entry by hand, without its old name."""
        self._run("ldapmodrdn", "-r", dn, name)

    def delete(self, dn: str) -> None:
        """Delete an entry by hand."""
        self._run("ldapdelete", dn)

    def _run(self, program: str, *arguments: str, input_: str | None = None) -> str:
        values = self.suite.values
        account = (
            "-x",
            "-H",
            values["LDAP_URL"],
            "-D",
            f"cn=root,{self.suite.base}",
            "-w",
            values["LDAP_ROOT_PASSWORD"],
        )
        done = subprocess.run(
            [program, *account, *arguments], input=input_, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def _parsed(text: str) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, separator, value = line.partition(": ")
        if separator and not line.startswith("#"):
            plain = base64.b64decode(value).decode(errors="replace") if name.endswith(":") else value
            found.setdefault(name.rstrip(":"), []).append(plain)
    return found
