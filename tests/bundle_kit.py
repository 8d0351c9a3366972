"""Bundles and runs for the tests of the bundle."""

import hashlib
import json
import shutil

from sgeval.bundle import check, shelf
from sgeval.bundle.building import MANIFEST


def copy_of(folder):
    """A bundle of one's own to break: that of sgeval."""
    shutil.copytree(shelf(), folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def put(folder, name, text):
    """Replace a file, and its digest in the manifest as one who wants to hide it would."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    manifest["files"][name] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")


def swap(folder, name, old, new):
    """Replace a text that a file has."""
    text = (folder / name).read_text(encoding="utf-8")
    assert old in text
    put(folder, name, text.replace(old, new))


def faults_of(folder):
    return "\n".join(check(folder))
