"""What tests of a hostile board share: submissions, secrets, what a folder holds."""

import hashlib
import io
import sys
import zipfile

import pytest

from benchmarks.perf.board_client import LEADERBOARD

GOOD = (LEADERBOARD / "submissions/situations/average.jsonl").read_bytes()
SECRETS = {
    name: f"CANARY-secret-{name}"
    for name in ("SGEVAL_RESULTS_TOKEN", "HF_TOKEN", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "ANTHROPIC_API_KEY")
}
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")


def another(number):
    """A submission like `GOOD` that says one other thing."""
    return GOOD.replace(b'"carefully"', f'"in manner {number}"'.encode(), 1)


def digest(folder):
    """What a folder holds: names and bytes."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def zipped(*files):
    """A zip of names and bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return out.getvalue()
