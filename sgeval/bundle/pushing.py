"""Uploading a bundle. Called on request only."""

import warnings
from dataclasses import dataclass
from pathlib import Path

from sgeval import __version__
from sgeval.bundle.building import check_repo, files_of
from sgeval.bundle.checking import check
from sgeval.bundle.contents import REPOSITORY
from sgeval.bundle.manifests import read_manifest
from sgeval.errors import InvalidInput, SgevalError, one_line


@dataclass(frozen=True)
class Pushed:
    """What is uploaded, or would be: files with their bytes, and the address, `None` in a dry run."""

    files: dict[str, int]
    address: str | None


def push(
    folder: str | Path, repo: str, *, private: bool = True, dry_run: bool = False, token: str | None = None
) -> Pushed:
    """Upload a bundle to the Hub as a data set repository. With `dry_run` nothing is sent and nobody is asked.

    Raises `InvalidInput` with the faults of a bundle that `check` does not pass, and `SgevalError` for one that names another
    repository than `repo`, since its card and results would point elsewhere. `ORG` stands for who pushes: a dry run warns of
    it, and nothing is sent there.
    """
    place = Path(folder)
    check_repo(repo)
    if faults := check(place):
        raise InvalidInput(one_line(str(place)), faults)
    named = read_manifest(place).repo
    if named != repo:
        raise SgevalError(f"repo: expected {named}, which the card names, got {repo}; build with --repo {repo}")
    files = {name: (place / name).stat().st_size for name in files_of(place)}
    if repo == REPOSITORY:
        words = f"repo: expected who pushes in place of ORG, got {repo}; build with --repo"
        if not dry_run:
            raise SgevalError(words)
        warnings.warn(words, stacklevel=2)
    if dry_run:
        return Pushed(files, None)
    from huggingface_hub import HfApi

    api = HfApi(token=token)
    address = str(api.create_repo(repo, repo_type="dataset", private=private, exist_ok=True))
    api.upload_folder(
        repo_id=repo,
        repo_type="dataset",
        folder_path=place,
        allow_patterns=list(files),
        commit_message=f"Bundle of sgeval {__version__}",
    )
    return Pushed(files, address)
