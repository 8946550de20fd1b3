# SPDX-License-Identifier: Apache-2.0
"""Translates boolean expressions to SQL.

Membership rules and `$filter` share this code.
"""

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from chamberlain.core.expressions import AllOf, AnyOf, Expression, Not

Leaf = TypeVar("Leaf")


class Translator(ABC, Generic[Leaf]):
    """Translates expressions to SQL. Subclasses translate the comparisons."""

    def translate(self, expression: Expression[Leaf]) -> str:
        """Return the expression as a SQL condition."""
        match expression:
            case AllOf(parts):
                return "(" + " AND ".join(map(self.translate, parts)) + ")"
            case AnyOf(parts):
                return "(" + " OR ".join(map(self.translate, parts)) + ")"
            case Not(part):
                return f"NOT {self.translate(part)}"
            case leaf:
                return self._comparison(leaf)

    @abstractmethod
    def _comparison(self, leaf: Leaf) -> str: ...
