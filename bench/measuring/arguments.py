# SPDX-License-Identifier: Apache-2.0
"""The command line of a measurement: how long it goes on, and `--quick`."""

import argparse
from collections.abc import Mapping


def read_arguments(
    description: str | None, *, quick: Mapping[str, object], **standard: int | tuple[int, ...]
) -> argparse.Namespace:
    """One option for each standard value; with `--quick` those named there are taken in their place.

    A standard value of several numbers is an option that takes several.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="a short look: " + _told(quick))
    for name, value in standard.items():
        how = "+" if isinstance(value, tuple) else None
        parser.add_argument(f"--{name}", type=int, nargs=how, default=value, help=f"standard: {_told({name: value})}")
    asked = parser.parse_args()
    if asked.quick:
        vars(asked).update(quick)
    return asked


def _told(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
