# SPDX-License-Identifier: Apache-2.0
"""Page and examples of each command.

The help and the manual pages have them. The examples use the sample data. Short ids are those of your own objects.
"""

from typing import Final

# Page and examples by command. The first example represents the command in the help of its group.
EXAMPLES: Final[dict[str, tuple[str, ...]]] = {
    "serve": (
        "docs/tutorial/first-group.md",
        "chamberlain serve",
        "chamberlain serve --port 9000 --data-dir /var/lib/chamberlain",
    ),
    "worker": ("docs/how-to/high-availability.md", "chamberlain worker --data-dir /var/lib/chamberlain-worker"),
    "migrate": (
        "docs/how-to/outside-postgresql.md",
        "chamberlain migrate",
        "chamberlain migrate --before",
        "chamberlain migrate --print > chamberlain.sql",
    ),
    "token": (
        "docs/how-to/sign-in.md",
        "chamberlain token --user ada@estate.example \\\n      --scope https://api.estate.example/mail/App.ReadWrite.All",
        "chamberlain token --client automation \\\n      --scope https://api.estate.example/.default",
    ),
    "login": (
        "docs/how-to/command-line.md",
        "chamberlain login",
        "chamberlain login --browser",
        (
            "chamberlain login --server https://chamberlain.example.org \\\n"
            "      --issuer https://id.example.org/main --client-id chamberlain-cli"
        ),
    ),
    "logout": ("docs/how-to/command-line.md", "chamberlain logout"),
    "whoami": ("docs/how-to/command-line.md", "chamberlain whoami"),
    "context list": ("docs/how-to/command-line.md", "chamberlain context list"),
    "context show": ("docs/how-to/command-line.md", "chamberlain context show", "chamberlain context show production"),
    "context use": ("docs/how-to/command-line.md", "chamberlain context use production"),
    "context add": (
        "docs/how-to/command-line.md",
        "chamberlain context add test --server http://127.0.0.1:8365",
        (
            "chamberlain context add production --server https://chamberlain.example.org \\\n"
            "      --issuer https://id.example.org/main --client-id chamberlain-cli"
        ),
    ),
    "context remove": ("docs/how-to/command-line.md", "chamberlain context remove test"),
    "plan": (
        "docs/how-to/configuration-files.md",
        "chamberlain plan estate.yaml",
        "chamberlain plan --server https://chamberlain.example.org estate.yaml",
    ),
    "apply": (
        "docs/how-to/configuration-files.md",
        "chamberlain apply estate.yaml",
        "chamberlain apply --yes tenants.yaml templates.yaml",
    ),
    "export": (
        "docs/how-to/configuration-files.md",
        "chamberlain export estate.yaml",
        'chamberlain export --tenant "Example Estate" --without-assignments',
    ),
    "figures": (
        "docs/how-to/slow-templates.md",
        "chamberlain figures",
        "chamberlain figures --from 2026-11-01 --to 2026-11-30",
    ),
    "me": ("docs/how-to/find-requests-and-people.md", "chamberlain me", "chamberlain me --jq .toDecide"),
    "permissions": ("docs/how-to/reduce-permissions.md", "chamberlain permissions"),
    "release": (
        "docs/how-to/leave.md",
        "chamberlain release --dry-run",
        'chamberlain release --type group --type team --comment "Moving out" --wait',
    ),
    "erase": (
        "docs/reference/audit.md",
        "chamberlain erase --user c1e00000-0000-4000-8000-000000000003",
    ),
    "doctor": ("docs/how-to/doctor.md", "chamberlain doctor", "chamberlain doctor --json"),
    "demo": ("docs/how-to/demo.md", "chamberlain demo", "chamberlain demo --reset"),
    "routes": ("docs/reference/api.md", "chamberlain routes"),
    "backup": ("docs/how-to/backup.md", "chamberlain backup chamberlain-2026-11-26.backup"),
    "restore": (
        "docs/how-to/backup.md",
        "chamberlain restore --data-dir /var/lib/new chamberlain-2026-11-26.backup",
    ),
    "help": ("docs/how-to/command-line.md", "chamberlain help", "chamberlain help mailbox create"),
    "completion": (
        "docs/how-to/command-line.md",
        'eval "$(chamberlain completion bash)"',
        "chamberlain completion fish > ~/.config/fish/completions/chamberlain.fish",
    ),
    "man": ("docs/how-to/command-line.md", "chamberlain man --dir ~/.local/share/man/man1"),
    "mailbox create": (
        "docs/how-to/room.md",
        (
            "chamberlain mailbox create --template Room --name lindau \\\n"
            '      --display-name "Room Lindau" --capacity 12 --whiteboard --wait'
        ),
        (
            'chamberlain mailbox create --template "Shared mailbox" --name info \\\n      --display-name Information '
            "--permission ben@estate.example=FullAccess"
        ),
        'chamberlain mailbox create --template Equipment --name beamer \\\n      --display-name "Beamer 2" --dry-run',
    ),
    "mailbox list": (
        "docs/how-to/room.md",
        "chamberlain mailbox list",
        "chamberlain mailbox list --type room --query lin",
    ),
    "mailbox show": (
        "docs/how-to/room.md",
        "chamberlain mailbox show lindau@rooms.estate.example",
        'chamberlain mailbox show "Room Lindau"',
    ),
    "mailbox import": (
        "docs/how-to/import-mailboxes.md",
        "chamberlain mailbox import --dry-run rooms.csv",
        "chamberlain mailbox import --template Room --wait rooms.csv",
    ),
    "group create": (
        "docs/tutorial/first-group.md",
        'chamberlain group create --template "Project group" \\\n      --display-name Orchard --wait',
        (
            'chamberlain group create --template "Project group" --display-name Vineyard \\\n'
            "      --owner ben@estate.example --member cleo@estate.example"
        ),
    ),
    "group list": (
        "docs/how-to/guest-rules.md",
        "chamberlain group list",
        "chamberlain group list --query Orch",
        "chamberlain group list --template Partners --no-assigned",
    ),
    "group show": (
        "docs/how-to/guest-rules.md",
        "chamberlain group show all-staff@estate.example",
        "chamberlain group show --request Orchard",
    ),
    "group assign": (
        "docs/how-to/guest-rules.md",
        'chamberlain group assign --template Partners --policy "90 days" "All staff"',
        "chamberlain group assign --no-policy --dry-run all-staff@estate.example",
    ),
    "group import": (
        "docs/how-to/import-groups.md",
        "chamberlain group import --dry-run groups.csv",
        'chamberlain group import --template "Project group" --wait groups.csv',
    ),
    "team create": (
        "docs/how-to/collab-templates.md",
        'chamberlain team create --template "Project team" \\\n      --display-name Harvest --wait',
        'chamberlain team create --template "Confidential team" --display-name Merger',
    ),
    "assignment import": (
        "docs/how-to/import-assignments.md",
        "chamberlain assignment import --dry-run assignments.csv",
        "chamberlain assignment import --wait assignments.csv",
    ),
    "people find": (
        "docs/how-to/find-requests-and-people.md",
        "chamberlain people find ben",
        'chamberlain people find "ben ok"',
    ),
    "people import": (
        "docs/how-to/import-people.md",
        "chamberlain people import --dry-run people.csv",
        "chamberlain people import people.ldif",
    ),
    "site list": ("docs/how-to/guest-rules.md", "chamberlain site list", "chamberlain site list --no-assigned"),
    "site show": (
        "docs/how-to/guest-rules.md",
        "chamberlain site show Handbook",
        "chamberlain site show https://sites.estate.example/handbook",
    ),
    "site assign": (
        "docs/how-to/guest-rules.md",
        'chamberlain site assign --template "No guests" --wait Suppliers',
        "chamberlain site assign --no-template Handbook",
    ),
    "request list": (
        "docs/how-to/find-requests-and-people.md",
        "chamberlain request list",
        "chamberlain request list --to-decide",
        "chamberlain request list --state failed --kind room --all",
        "chamberlain request list --query orchard --from 2026-11-01",
    ),
    "request show": (
        "docs/how-to/requests-that-wait-or-fail.md",
        "chamberlain request show Orchard",
        "chamberlain request show 2f6a1b7c",
    ),
    "request watch": (
        "docs/how-to/watch-a-request.md",
        "chamberlain request watch Orchard",
        "chamberlain request watch --timeout 60 2f6a1b7c",
    ),
    "request approve": (
        "docs/how-to/approve-requests.md",
        "chamberlain request approve 2f6a1b7c",
        'chamberlain request approve --comment "For the merger" CONF-Merger',
    ),
    "request reject": (
        "docs/how-to/approve-requests.md",
        'chamberlain request reject --comment "There is a team already" 2f6a1b7c',
    ),
    "request assign": (
        "docs/how-to/approve-requests.md",
        "chamberlain request assign --approver ben@estate.example 2f6a1b7c",
    ),
    "approval reply": ("docs/how-to/notices.md", "chamberlain approval reply < reply.eml"),
    "substitute show": ("docs/how-to/approve-requests.md", "chamberlain substitute show"),
    "substitute name": (
        "docs/how-to/approve-requests.md",
        "chamberlain substitute name --days 14 ben@estate.example",
    ),
    "substitute withdraw": ("docs/how-to/approve-requests.md", "chamberlain substitute withdraw"),
    "request cancel": ("docs/how-to/requests-that-wait-or-fail.md", "chamberlain request cancel 2f6a1b7c"),
    "request retry": (
        "docs/how-to/requests-that-wait-or-fail.md",
        "chamberlain request retry 2f6a1b7c",
    ),
    "template list": (
        "docs/how-to/collab-templates.md",
        "chamberlain template list",
        "chamberlain template list --kind room",
        "chamberlain template list --admin --kind guest",
    ),
    "template show": (
        "docs/how-to/mailbox-templates.md",
        "chamberlain template show Room",
        "chamberlain template show --json Room > room.json",
    ),
    "template form": ("docs/how-to/find-requests-and-people.md", "chamberlain template form Room"),
    "template create": ("docs/how-to/mailbox-templates.md", "chamberlain template create --body quiet-room.json"),
    "template replace": ("docs/how-to/mailbox-templates.md", "chamberlain template replace --body room.json Room"),
    "template delete": ("docs/how-to/mailbox-templates.md", 'chamberlain template delete "Project team"'),
    "policy list": ("docs/how-to/guest-rules.md", "chamberlain policy list"),
    "policy show": (
        "docs/how-to/guest-rules.md",
        'chamberlain policy show "90 days"',
        'chamberlain policy show --json "90 days" > policy.json',
    ),
    "policy create": ("docs/how-to/guest-rules.md", "chamberlain policy create --body six-months.json"),
    "policy replace": ("docs/how-to/guest-rules.md", 'chamberlain policy replace --body policy.json "90 days"'),
    "policy simulate": (
        "docs/how-to/guest-rules.md",
        'chamberlain policy simulate "90 days"',
        'chamberlain policy simulate --group "All staff" --site Handbook "90 days"',
    ),
    "policy delete": ("docs/how-to/guest-rules.md", 'chamberlain policy delete "Yearly review"'),
    "finding list": (
        "docs/how-to/drift.md",
        "chamberlain finding list",
        "chamberlain finding list --state open --kind guestExpired",
        "chamberlain finding list --subject all-staff@estate.example",
    ),
    "finding accept": (
        "docs/how-to/guest-rules.md",
        'chamberlain finding accept --reason "Under contract" 5d41c02e',
        "chamberlain finding accept --reason Audit --until 2027-01-31T00:00:00 5d41c02e",
    ),
    "finding ignore": (
        "docs/how-to/drift.md",
        'chamberlain finding ignore --comment "Renamed on purpose" 5d41c02e',
    ),
    "finding repair": ("docs/how-to/drift.md", "chamberlain finding repair --wait 5d41c02e"),
    "finding confirm": ("docs/how-to/guest-rules.md", "chamberlain finding confirm 5d41c02e"),
    "drift check": ("docs/how-to/drift.md", "chamberlain drift check"),
    "adoption preview": (
        "docs/how-to/adoption.md",
        'chamberlain adoption preview --kind group --template "Project group"',
        "chamberlain adoption preview --kind room --template Room --prefix room",
    ),
    "adoption confirm": (
        "docs/how-to/adoption.md",
        'chamberlain adoption confirm --kind group --template "Project group"',
    ),
    "adoption undo": ("docs/how-to/adoption.md", "chamberlain adoption undo 81c6e4f0"),
    "adoption show": ("docs/how-to/adoption.md", "chamberlain adoption show 81c6e4f0"),
    "adoption list": ("docs/how-to/adoption.md", "chamberlain adoption list"),
    "delivery list": (
        "docs/how-to/webhooks.md",
        "chamberlain delivery list",
        "chamberlain delivery list --state failed --template Room",
    ),
    "delivery redeliver": (
        "docs/how-to/webhooks.md",
        "chamberlain delivery redeliver 19b3fd72",
        "chamberlain delivery redeliver --from 2026-11-25T08:00:00 \\\n      --to 2026-11-25T10:00:00 --template Room",
    ),
    "webhook test": ("docs/how-to/webhooks.md", "chamberlain webhook test Room"),
    "webhook rotate": ("docs/how-to/webhooks.md", "chamberlain webhook rotate Room"),
    "event list": (
        "docs/how-to/follow-events.md",
        "chamberlain event list",
        "chamberlain event list --type request.failed --all",
    ),
    "event follow": (
        "docs/how-to/follow-events.md",
        "chamberlain event follow",
        "chamberlain event follow --oldest --json",
    ),
    "tenant list": ("docs/how-to/tenants.md", "chamberlain tenant list", "chamberlain tenant list --deleted"),
    "tenant suspend": ("docs/how-to/tenants.md", 'chamberlain tenant suspend "Other House"'),
    "tenant resume": ("docs/how-to/tenants.md", 'chamberlain tenant resume "Other House"'),
    "tenant export": ("docs/how-to/tenants.md", 'chamberlain tenant export "Other House" other-house.ndjson'),
    "tenant delete": ("docs/how-to/tenants.md", 'chamberlain tenant delete "Other House"'),
    "audit list": (
        "docs/how-to/audit.md",
        "chamberlain audit list",
        "chamberlain audit list --action group.assign --from 2026-11-01",
    ),
    "audit verify": (
        "docs/how-to/audit.md",
        "chamberlain audit verify",
        'chamberlain audit verify --tenant "Example Estate"',
    ),
    "jobs list": ("docs/how-to/queue-and-health.md", "chamberlain jobs list"),
    "connection add": (
        "docs/how-to/connect-a-directory.md",
        "chamberlain connection add --address postgresql://db/d --credential-stdin",
    ),
    "connection list": ("docs/how-to/connect-a-directory.md", "chamberlain connection list"),
    "connection check": ("docs/how-to/connect-a-directory.md", "chamberlain connection check"),
    "connection change": (
        "docs/how-to/connect-a-directory.md",
        "chamberlain connection change --credential-stdin",
    ),
    "connection remove": ("docs/how-to/connect-a-directory.md", "chamberlain connection remove --yes"),
    "jobs release": ("docs/how-to/queue-and-health.md", "chamberlain jobs release 4c1f09aa"),
    "keys list": ("docs/how-to/keys.md", "chamberlain keys list"),
    "keys add": ("docs/how-to/keys.md", "chamberlain keys add"),
    "keys rotate": ("docs/how-to/keys.md", "chamberlain keys rotate"),
    "keys drop": ("docs/how-to/keys.md", "chamberlain keys drop k1"),
    "retention confirm": ("docs/reference/retention.md", "chamberlain retention confirm"),
}
