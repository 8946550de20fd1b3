"""The data folder: the room that is left on its disk, the certificate in it, and who can read the secrets in it."""

import shutil
import ssl
import stat
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from chamberlain.app.clock_and_ids import local_now
from chamberlain.app.data_folder import DataFolder
from chamberlain.app.doctor.checks import judge_certificate, judge_space
from chamberlain.core.checkups import Checkup, doubtful, faulty, well
from chamberlain.settings import Settings


def look_at_folder(settings: Settings) -> Sequence[Checkup]:
    """Nothing is made where there is none."""
    folder = DataFolder(settings.data_dir)
    try:
        free = shutil.disk_usage(folder.path).free
    except FileNotFoundError:
        return [well("data folder", f"There is no {folder.path} yet. The first start makes it.")]
    except OSError as error:
        seen = f"{folder.path} cannot be looked at ({error.strerror})."
        return [faulty("data folder", seen, "Run this as who runs the service, or name its --data-dir.")]
    return [judge_space(str(folder.path), free), *_secrets(folder), *_certificate(folder.authority)]


def _secrets(folder: DataFolder) -> Sequence[Checkup]:
    try:
        files = [folder.path / "example-users.json", *folder.path.glob("*.secret")]
        open_files = [file for file in files if file.exists() and file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)]
    except OSError as error:
        seen = f"Files in {folder.path} cannot be looked at ({error.strerror})."
        return [faulty("data folder", seen, "Run this as who runs the service.")]
    return [
        doubtful("data folder", f"Others than its owner can use {file}, which holds secrets.", f"chmod 600 {file}")
        for file in open_files
    ]


def _certificate(authority: Path) -> Sequence[Checkup]:
    if not authority.exists():
        return ()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cafile=authority)
    except OSError:
        # Of this class are the faults of certificates, too.
        seen = f"{authority} cannot be read, or is no certificate."
        return [faulty("certificate", seen, "Restart the service, which writes it anew.")]
    ends = [ssl.cert_time_to_seconds(str(each["notAfter"])) for each in context.get_ca_certs()]
    return [judge_certificate(datetime.fromtimestamp(end, UTC), local_now()) for end in ends]
