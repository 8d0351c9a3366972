"""Uploading an export to the Hub. Called on request only."""

import shlex
from pathlib import Path
from typing import Any

from sgeval.data import reading
from sgeval.data.exported import marked
from sgeval.errors import SgevalError, one_line, shown

MEDIA = ("pictures", "masks", "clips")
"""What the mark of a card names where it is in the files."""


def push(folder: str | Path, repo_id: str, *, private: bool = True, token: str | None = None) -> str:
    """Upload an export to the Hub as a data set, and give its address. Called on request only.

    A public one is refused where nothing grants that the data set is passed on, or pictures with it; so is a repository
    that is public already. Raises `SgevalError` for that, as `check_push`, and for an upload that fails, with the command
    that uploads the export without making it again.
    """
    from huggingface_hub import HfApi

    folder = Path(folder)
    if not (words := marked(folder)):
        raise SgevalError(f"{one_line(str(folder))}: expected an export of sgeval, got something else")
    name, has_media = words[0], bool({*MEDIA} & {*words})
    check_licence(name, repo_id, private=private, has_media=has_media)
    check_repo_id(repo_id)
    api = HfApi(token=token)
    try:
        address = str(api.create_repo(repo_id, repo_type="dataset", private=private, exist_ok=True))
        is_private = private and bool(api.repo_info(repo_id, repo_type="dataset").private)
        check_licence(name, repo_id, private=is_private, has_media=has_media)
        api.upload_folder(repo_id=repo_id, repo_type="dataset", folder_path=folder, commit_message=f"{name}, by sgeval")
    except SgevalError:
        raise
    except Exception as fault:  # the Hub's client raises many types
        flag = "--private" if private else "--no-private"
        command = f"hf upload {repo_id} {shlex.quote(str(folder))} . --repo-type dataset {flag}"
        raise SgevalError(
            f"{repo_id}: expected an upload, got {_said(fault)}; the export stands in {one_line(str(folder))}, and "
            f"`{one_line(command)}` uploads it"
        ) from None
    return address


def check_push(name: str, repo_id: str, *, private: bool, has_media: bool, token: str | None = None) -> None:
    """Raise `SgevalError` for what can be known before an export is made: a name that the Hub does not take, a licence that
    does not let it be public, and a login that the Hub does not know."""
    from huggingface_hub import HfApi

    check_repo_id(repo_id)
    check_licence(name, repo_id, private=private, has_media=has_media)
    try:
        HfApi(token=token).whoami()
    except Exception as fault:  # the Hub's client raises many types
        raise SgevalError(
            f"{repo_id}: expected a login at the Hub, got {_said(fault)}; `hf auth login` makes one. Nothing was exported; "
            "without --push-to it is"
        ) from None


def check_repo_id(repo_id: Any) -> None:
    """Raise `SgevalError` for what is no name of a repository, with its owner."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    try:
        validate_repo_id(repo_id)
        has_owner = "/" in repo_id
    except (HFValidationError, TypeError):
        has_owner = False
    if not has_owner:
        raise SgevalError(
            f"repository: expected ORG/NAME, of letters, digits, -, _ and . (no -- and no ..), got {shown(repo_id)}"
        )


def check_licence(name: str, repo_id: str, *, private: bool, has_media: bool) -> None:
    """Raise `SgevalError` for a public repository where nothing grants that the data set, or its pictures, are passed on."""
    licence = reading.data_set(name).licence
    if not private and (licence.publish == "nothing" or has_media):
        what = "pictures" if licence.publish != "nothing" else "the annotations"
        raise SgevalError(
            f"{shown(repo_id)}: expected a private repository: nothing grants that {what} of {name} are made public "
            f"({licence.words})"
        )


def _said(fault: BaseException) -> str:
    """The first line of what a client says."""
    lines = str(fault).strip().splitlines()
    return shown(f"{type(fault).__name__}: {lines[0]}" if lines else type(fault).__name__, 200)
