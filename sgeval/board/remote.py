"""Results in a data set repository of the Hub: fetched at the start, and added to, one commit an entry.

The token is the board's own; a fine-grained one that may write to this one repository is enough. It stays in this process.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

from sgeval.board.results import ENTRY
from sgeval.errors import SgevalError, one_line
from sgeval.judges.providers import Secret


class Hub(Protocol):
    """What is asked of `huggingface_hub.HfApi`."""

    def snapshot_download(self, repo_id: str, *, repo_type: str, local_dir: Path) -> Any:
        """Fetch all files."""

    def list_repo_files(self, repo_id: str, *, repo_type: str) -> list[str]:
        """The names of all files."""

    def upload_folder(
        self, *, repo_id: str, repo_type: str, folder_path: Path, path_in_repo: str, commit_message: str
    ) -> Any:
        """Add files in one commit."""


class Remote:
    """A repository of results."""

    def __init__(
        self, repo: str, hub: Hub, say: Callable[[str], None] = print, hide: Callable[[str], str] = str
    ) -> None:
        """`hide` takes out of a text what nobody is to read."""
        self.repo, self.hub, self.say, self.hide = repo, hub, say, hide
        self._there: set[str] = set()
        self._told: set[str] = set()

    def fetch(self, folder: Path) -> None:
        """Fetch the results into a folder. Raises `SgevalError` in one line when that fails."""
        try:
            self.hub.snapshot_download(self.repo, repo_type="dataset", local_dir=folder)
        except Exception as fault:  # of many libraries
            raise SgevalError(f"results of {self.repo}: cannot be fetched ({self._said(fault)})") from None

    def keep(self, entries: Iterable[Path]) -> None:
        """Upload the folders of entries that are not there. What fails is told once, and waits for the next call; it is on
        the board meanwhile, and on this disk."""
        named = {f"{entry.parent.name}/{entry.name}": entry for entry in entries}
        if named.keys() <= self._there:
            return
        try:  # another board may add to it too
            files = self.hub.list_repo_files(self.repo, repo_type="dataset")
            self._there |= {file.removesuffix(f"/{ENTRY}") for file in files if file.endswith(f"/{ENTRY}")}
        except Exception as fault:  # of many libraries
            self._tell(f"results of {self.repo}: cannot be listed ({self._said(fault)})")
            return
        for place, folder in named.items():
            if place not in self._there:
                try:
                    self._upload(place, folder)
                except Exception as fault:  # of many libraries
                    self._tell(f"{place}: not uploaded to {self.repo} yet ({self._said(fault)})")

    def _upload(self, place: str, folder: Path) -> None:
        self.hub.upload_folder(
            repo_id=self.repo,
            repo_type="dataset",
            folder_path=folder,
            path_in_repo=place,
            commit_message=f"Add {place}",
        )
        self._there.add(place)

    def _said(self, fault: Exception) -> str:
        return one_line(self.hide(str(fault)))

    def _tell(self, words: str) -> None:
        if words not in self._told:
            self.say(words)
        self._told.add(words)


def connect(repo: str, token: str | None) -> Remote:
    """The repository of a name."""
    from huggingface_hub import HfApi

    return Remote(repo, HfApi(token=token), hide=Secret(token or "").hide)
