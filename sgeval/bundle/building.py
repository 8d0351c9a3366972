"""Writing a bundle: card, tasks, specs, ids and demo scenes; the same bytes for the same inputs.

README.md           the card
eval.yaml           one task a ranked number
manifest.json       what the bundle is: repository, versions, splits with digests, files with digests
specs/*.yaml        ranked numbers, and published tables with their numbers
data/<config>/*     one row a split; of `demo` the scenes
"""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sgeval import __version__
from sgeval.bundle.card import EVAL, README, card, eval_yaml
from sgeval.bundle.contents import CONFIGS, REPOSITORY
from sgeval.bundle.specs import SPECS, Table, Task, read_specs, shelf
from sgeval.bundle.splits import Split, make_split, warn_of_counts
from sgeval.demo import SCENES
from sgeval.errors import SgevalError, one_of, shown
from sgeval.files import check_new_folder, give_name, make_folder

MANIFEST = "manifest.json"
FORMAT = 1
KIND = "sgeval bundle"


def build(
    out: str | Path, *, data: Mapping[str, str | Path] | None = None, repo: str = REPOSITORY, overwrite: bool = False
) -> list[Split]:
    """Write a bundle into the folder `out`, which appears whole or not at all; its splits.

    `data` names folders by config: their ids are read, counted and hashed. Without one a split has no digest, and results
    on it are refused. `repo` is the repository that the card and results name.

    Raises `SgevalError` for an unknown config, a folder without the data set, a repository name that the Hub does not
    take, and an `out` that exists (with `overwrite`, one that is no bundle).
    """
    folder = Path(out)
    check_repo(repo)
    for config in data or {}:
        one_of("data", config, [name for name, found in CONFIGS.items() if found.set is not None])
    check_new_folder(folder, overwrite, is_bundle, "a bundle")
    faults: list[str] = []
    tasks, tables = read_specs(shelf(), faults)
    if faults:
        raise SgevalError(faults[0])
    places = {config: Path(place) for config, place in (data or {}).items()}
    splits = [
        make_split(config, split, places.get(config)) for config, found in CONFIGS.items() for split in found.splits
    ]
    warn_of_counts(splits)
    make_folder(folder.absolute().parent)
    work = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".unfinished", dir=folder.absolute().parent))
    try:
        _write(work, repo, tasks, tables, splits)
        work.chmod(0o755)
        check_new_folder(folder, overwrite, is_bundle, "a bundle")
        give_name(work, folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return splits


def _write(work: Path, repo: str, tasks: list[Task], tables: list[Table], splits: list[Split]) -> None:
    (work / SPECS).mkdir()
    for name in [*(task.id for task in tasks), *(table.id for table in tables)]:
        shutil.copyfile(shelf() / SPECS / f"{name}.yaml", work / SPECS / f"{name}.yaml")
    for split in splits:
        path = work / split.file
        path.parent.mkdir(parents=True, exist_ok=True)
        if CONFIGS[split.config].set is None:
            shutil.copyfile(SCENES / "references.jsonl", path)
            pictures = path.parent / "images"
            pictures.mkdir()
            for picture in sorted((SCENES / "images").glob("*.jpg")):
                shutil.copyfile(picture, pictures / picture.name)
        else:
            _put(path, split.line())
    _put(work / EVAL, eval_yaml(tasks))
    _put(work / README, card(repo, tasks, tables, splits))
    _put(work / MANIFEST, json.dumps(manifest(work, repo, splits), ensure_ascii=False, indent=1) + "\n")


def manifest(folder: Path, repo: str, splits: list[Split]) -> dict[str, Any]:
    """What `manifest.json` says of a folder that has everything else."""
    keys = ("config", "split", "number", "ids_sha256", "references_sha256")
    named = [{key: getattr(one, key) for key in keys} for one in splits]
    files = {name: file_digest(folder / name) for name in files_of(folder) if name not in (MANIFEST, README)}
    return {"kind": KIND, "format": FORMAT, "repo": repo, "sgeval": __version__, "splits": named, "files": files}


def files_of(folder: Path) -> list[str]:
    """The files of a bundle, links and hidden ones too, by their names below it; what Git and Python keep is passed over."""
    found = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if not {".git", ".cache", "__pycache__"} & {*name.parts} and (path.is_symlink() or not path.is_dir()):
            found.append(name.as_posix())
    return found


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_repo(repo: str) -> None:
    """Refuse what is no `ORG/NAME` of the Hub."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    try:
        validate_repo_id(repo)
    except HFValidationError:
        raise SgevalError(f"repo: expected ORG/NAME as the Hub takes it, got {shown(repo)}") from None
    if repo.count("/") != 1:
        raise SgevalError(f"repo: expected ORG/NAME, got {shown(repo)}")


def is_bundle(folder: Path) -> bool:
    """Whether a folder is a bundle, by its manifest."""
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.get("kind") == KIND


def _put(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
