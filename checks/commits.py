#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check the messages of new commits; `python3 dev.py check` runs it.

docs/developing.md describes the rule. Commits up to `BASE` are older than the rule.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from checks.prose import CURES, Text, text_findings

ROOT = Path(__file__).resolve().parents[1]
BASE = "ff1cb517aaf4706f36fdaefb4d9f1caf00372cac"
SUBJECT_LENGTH = 72

# Likely first words that are no imperative: determiners, pronouns, prepositions, conjunctions, other forms of verbs.
NO_VERB = re.compile(
    r"""an?|the|th(?:is|at|ese|ose)|its?|they|we|you|i|s?he|t?here|wh(?:at(?:ever)?|en|ere|ether|ich|ile|o(?:m|ever|se)?|y)|how|if|so|than|then
    |all|any|both|each|every|few|many|more|most|much|none|not?|now|one|other|several|some|such|two
    |about|after|also|as|at|before|between|by|during|for|from|in|into|of|on|only|out|over|through|to|under|until|up|with|without
    |are|can|could|did|do|does|ha[sd]|have|is|made|may|must|shall|should|took|was|were|will|would|wrote
    |big|bigger|faster|large|less|new|real|small|smaller""",
    re.VERBOSE,
)
# Verbs that look like a gerund, a past tense or a third person.
VERB = re.compile(
    r"""bring|cling|fling|ping|ring|sing|sling|spring|sting|string|swing|wring
    |bleed|embed|exceed|feed|heed|need|proceed|seed|shed|speed|succeed|weed
    |alias|bias|canvas|focus""",
    re.VERBOSE,
)


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Check the commits since a base, by default the frozen one."""
    base = arguments[0] if arguments else BASE
    if git(root, "cat-file", "-e", f"{base}^{{commit}}") is None:
        # An archive has no history, and a shallow clone not all of it.
        print(f"commits    not checked: no history back to {base[:7]}", file=sys.stderr)
        return 0
    log = git(root, "log", "--no-merges", "-z", "--format=%h %B", f"{base}..HEAD") or ""
    failed = False
    for name, message in (commit.split(" ", 1) for commit in log.split("\0") if commit):
        for fault in faults(message.rstrip("\n")):
            failed = True
            print(f"{name}: {fault}")
    if failed:
        print("See docs/developing.md, Commit messages. Amend or rebase commits that are not pushed.")
    return int(failed)


def faults(message: str) -> list[str]:
    """List the faults of one message."""
    subject, *rest = message.split("\n")
    found = [
        f"{finding.rule}: {finding.excerpt} ({CURES[finding.rule]})" for finding in text_findings(Text(1, message))
    ]
    if len(subject) > SUBJECT_LENGTH:
        found.append(f"length: the subject has {len(subject)} characters; at most {SUBJECT_LENGTH}")
    if subject.endswith("."):
        found.append("full stop: end the subject without one")
    if rest and rest[0]:
        found.append("blank line: put one between subject and body")
    if not is_imperative(subject):
        found.append('imperative: start the subject with a verb such as "Add", in a capital letter')
    return found


def is_imperative(subject: str) -> bool:
    """Decide whether the first word can be an imperative, by its form and two short lists."""
    first = re.match(r"(?P<word>[A-Z][a-z]+)(?:-[a-z]+)*(?= )", subject)
    if first is None:
        return False
    word = first["word"].lower()
    is_inflected = bool(re.search(r"ing$|ed$|[^s]s$", word)) and not VERB.fullmatch(word)
    return not is_inflected and not NO_VERB.fullmatch(word)


def git(root: Path, *arguments: str) -> str | None:
    """Run git in the repository; None without git, or if it fails."""
    try:
        done = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return None if done.returncode else done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
