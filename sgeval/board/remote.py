"""Results in a data set repository of the Hub: fetched at the start, and added to, one commit an entry.

The token is the board's own; a fine-grained one that may write to this one repository is enough. It stays in this process.
"""

from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

from sgeval.board.results import ENTRY
from sgeval.errors import SgevalError, one_line


class Hub(Protocol):
    """What is asked of `huggingface_hub.HfApi`."""

    def snapshot_download(self, repo_id: str, *, repo_type: str, local_dir: Path) -> Any:
        """Fetch all files."""

    def file_exists(self, repo_id: str, filename: str, *, repo_type: str) -> bool:
        """Whether a file is there."""

    def upload_folder(
        self, *, repo_id: str, repo_type: str, folder_path: Path, path_in_repo: str, commit_message: str
    ) -> Any:
        """Add files in one commit."""


class Remote:
    """A repository of results."""

    def __init__(self, repo: str, hub: Hub, say: Callable[[str], None] = print) -> None:
        self.repo, self.hub, self.say = repo, hub, say
        self._waiting: list[Path] = []
        self._busy = Lock()

    def fetch(self, folder: Path) -> None:
        """Fetch the results into a folder. Raises `SgevalError` in one line when that fails."""
        try:
            self.hub.snapshot_download(self.repo, repo_type="dataset", local_dir=folder)
        except Exception as fault:  # of many libraries
            raise SgevalError(f"results of {self.repo}: cannot be fetched ({one_line(str(fault))})") from None

    def keep(self, entry: Path) -> None:
        """Upload an entry's folder, and those whose upload failed before. What fails waits for the next one; it is on the
        board meanwhile, and on this disk."""
        with self._busy:
            self._waiting.append(entry)
            for folder in list(self._waiting):
                place = f"{folder.parent.name}/{folder.name}"
                try:
                    if not self.hub.file_exists(self.repo, f"{place}/{ENTRY}", repo_type="dataset"):
                        self.hub.upload_folder(
                            repo_id=self.repo,
                            repo_type="dataset",
                            folder_path=folder,
                            path_in_repo=place,
                            commit_message=f"Add {place}",
                        )
                    self._waiting.remove(folder)
                except Exception as fault:  # of many libraries
                    self.say(f"{place}: not uploaded to {self.repo} yet ({one_line(str(fault))})")
                    return


def connect(repo: str, token: str | None) -> Remote:
    """The repository of a name."""
    from huggingface_hub import HfApi

    return Remote(repo, HfApi(token=token))
