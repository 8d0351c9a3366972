"""What is wrong with a bundle: every fault at once, nothing executed, nothing downloaded."""

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import Any

from sgeval import __version__
from sgeval.bundle import card
from sgeval.bundle.building import MANIFEST, file_digest, files_of
from sgeval.bundle.contents import CONFIGS, METRICS
from sgeval.bundle.manifests import Manifest, read_manifest
from sgeval.bundle.results import FOLDER, entries_of, read_entries
from sgeval.bundle.specs import Table, Task, read_specs, tables, tasks
from sgeval.bundle.splits import Split, digest, ids_of, known_split, row_of, warn_of_counts
from sgeval.bundle.strict_yaml import MAX_BYTES, parse_yaml, read_yaml
from sgeval.errors import SgevalError, counted, one_line, shown
from sgeval.hub import path as module_path
from sgeval.runs import FORMS

TEXTS = (".md", ".yaml", ".json", ".jsonl")
MACHINE_PATH = re.compile(
    r"""(?:^|[\s"'(=:\[])(?:/(?:home|root|Users|tmp|mnt|work|data|opt|var)/|[A-Za-z]:\\|~/|file://)"""
)
LINK = re.compile(r"\](?:\(|:)\s*<?([^)\s>]+)")
"""Where a link goes: `[x](target)`, or `[x]: target`."""
HTML = re.compile(r"<[A-Za-z!/?][^\n]{0,40}")
FENCE = re.compile(r"[\s>*+-]*(?:```|~~~)")
FRONT = re.compile(r"\A---\n(.*?\n)---\n", re.DOTALL)
EXAMPLE = re.compile(r"```yaml\n(.*?)\n```", re.DOTALL)
NEAR = 100  # lines of a card before and after the place of a missing one, for what stands there
TASK_KEYS = ("id", "config", "split")
PLAIN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,95}")


def check(folder: str | Path) -> list[str]:
    """The faults of a bundle, in words: place, what was expected, what is there. Empty where it is well.

    Looked at: the manifest and its digests; specs and their numbers, against those that ship with sgeval; `eval.yaml`, with
    config, split and spec of each task; the card's YAML, its files, tables, licences and links; the table of metrics
    against the modules; ids against their digest; result entries, by `huggingface_hub`; paths of somebody's machine. Text of
    one's own after the card is no fault; a warning tells of it.

    Raises `SgevalError` where the folder is no bundle at all.
    """
    place = Path(folder)
    if not place.is_dir():
        raise SgevalError(f"{one_line(str(place))}: expected the folder of a bundle, found none")
    if strange := list(_strange(place)):  # nothing is read through a link
        return strange
    found = read_manifest(place)
    faults: list[str] = []
    if found.sgeval != __version__:
        faults.append(
            f"{MANIFEST}: sgeval: expected {__version__}, which is installed, got {one_line(found.sgeval)}; the numbers of "
            "another version are not compared: build again"
        )
    faults += _files(place, found)
    ranked, published = read_specs(place, faults)
    faults += _against_shipped(published, ranked)
    faults += _eval(place, ranked)
    faults += _modules()
    splits = list(_splits(place, found, faults))
    warn_of_counts(splits)
    faults += _card(place, found, ranked, published, splits)
    faults += _results(place)
    return list(dict.fromkeys(faults))


def _files(folder: Path, found: Manifest) -> Iterator[str]:
    """Files that are missing, strange or changed, and texts that name a place on a machine."""
    here = files_of(folder)
    for name in here:
        path = folder / name
        if name not in found.files and not _is_free(name):
            yield f"{one_line(name)}: expected a file of {MANIFEST}, got one that is not in it"
        elif name in found.files and (got := file_digest(path)) != found.files[name]:
            yield f"{name}: expected the SHA-256 {found.files[name][:12]}… of {MANIFEST}, got {got[:12]}…"
        if path.suffix in TEXTS:
            yield from _machine_paths(name, path)
    for name in sorted({*found.files, card.README, card.EVAL} - {*here}):
        yield f"{one_line(name)}: expected a file, found none"


def _strange(folder: Path) -> Iterator[str]:
    """Links and what else is no regular file."""
    for name in files_of(folder):
        if (folder / name).is_symlink() or not (folder / name).is_file():
            yield f"{one_line(name)}: expected a regular file, got a link or something else"


def _is_free(name: str) -> bool:
    """Whether a file may be there that the manifest does not name: card, results, and what the Hub adds."""
    return name in (card.README, MANIFEST, ".gitattributes", ".gitignore") or PurePosixPath(name).parts[0] == FOLDER


def _machine_paths(name: str, path: Path) -> Iterator[str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        yield f"{name}: expected UTF-8, got other bytes"
        return
    for number, line in enumerate(lines, 1):
        if hit := MACHINE_PATH.search(line):
            yield f"{name}, line {number}: expected no path of a machine, got {shown(line[hit.start() :].strip(), 40)}"


def _against_shipped(found: Sequence[Table], ranked: Sequence[Task]) -> Iterator[str]:
    """Published tables and ranked numbers that are not those of sgeval, number by number and setting by setting."""
    own = {task.id: task for task in ranked}
    for task in tasks():
        place = f"specs/{task.id}.yaml"
        if task.id not in own:
            yield f"{place}: expected the task, found none"
            continue
        yield from _unequal(place, ": ", asdict(task), asdict(own[task.id]), "as shipped")
    here = {table.id: table for table in found}
    for table in tables():
        place, words = f"specs/{table.id}.yaml", f"as published ({table.source})"
        if table.id not in here:
            yield f"{place}: expected the published table, found none"
            continue
        yield from _unequal(place, ": ", _parts(table), _parts(here[table.id]), words)


def _parts(table: Table) -> dict[str, Any]:
    """All of a table; its numbers by name."""
    return {**asdict(table), "rows": table.records()}


def _unequal(place: str, mark: str, expected: Any, got: Any, words: str) -> Iterator[str]:
    """Where two values differ, part by part; what belongs together in a message stands behind `mark`."""
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        for name in dict.fromkeys((*expected, *got)):
            if name not in got:
                yield f"{place}: expected {one_line(name)}, {words}, got none"
            elif name not in expected:
                yield f"{place}: expected no {one_line(name)}, {words}, got {shown(got[name])}"
            else:
                yield from _unequal(f"{place}{mark}{one_line(name)}", ".", expected[name], got[name], words)
    elif isinstance(expected, (list, tuple)) and isinstance(got, (list, tuple)):
        if len(expected) != len(got):
            yield f"{place}: expected {len(expected)} of them, {words}, got {len(got)}"
        for at, (one, other) in enumerate(zip(expected, got, strict=False)):
            yield from _unequal(f"{place}[{at}]", ".", one, other, words)
    elif (type(expected), expected) != (type(got), got):
        yield f"{place}: expected {shown(expected)}, {words}, got {shown(got)}"


def _eval(folder: Path, ranked: Sequence[Task]) -> Iterator[str]:
    """`eval.yaml` against its form and the specs."""
    path = folder / card.EVAL
    if not path.is_file():
        return
    try:
        value = read_yaml(path, card.EVAL)
    except SgevalError as fault:
        yield str(fault)
        return
    if not isinstance(value, dict):
        yield f"{card.EVAL}: expected keys and values, got {shown(value)}"
        return
    right = parse_yaml(card.eval_yaml(ranked), card.EVAL)
    for key in dict.fromkeys((*right, *value)):
        if key not in right:
            yield f"{card.EVAL}: expected the keys {', '.join(right)}, got {shown(key)} too"
        elif key != "tasks" and value.get(key) != right[key]:
            yield f"{card.EVAL}: {key}: expected {shown(right[key])}, got {shown(value.get(key))}"
    listed = value.get("tasks")
    if not isinstance(listed, list) or not listed:
        yield f"{card.EVAL}: tasks: expected a list of tasks, got {shown(listed)}"
        return
    specs = {task.id: task for task in ranked}
    seen: set[str] = set()
    for at, entry in enumerate(listed):
        place = f"{card.EVAL}: tasks[{at}]"
        if not isinstance(entry, dict) or set(entry) != set(TASK_KEYS):
            yield f"{place}: expected the keys {', '.join(TASK_KEYS)}, got {shown(entry)}"
            continue
        name = entry["id"]
        if not isinstance(name, str) or not PLAIN_ID.fullmatch(name):
            yield f"{place}.id: expected a name of letters, digits, _, . and -, got {shown(name)}"
            continue
        if name in seen:
            yield f"{place}.id: expected each id once, got {name} twice"
        seen.add(name)
        if name not in specs:
            yield f"{place}.id: expected a task with a spec, got {name}, which has no specs/{name}.yaml of the kind task"
            continue
        for key in ("config", "split"):
            if entry[key] != getattr(specs[name], key):
                yield f"{place}.{key}: expected {getattr(specs[name], key)}, as its spec says, got {shown(entry[key])}"
    for name in specs:
        if name not in seen:
            yield f"{card.EVAL}: tasks: expected one for specs/{name}.yaml, found none"


def _modules() -> Iterator[str]:
    """The card's table of metrics against the modules: headline keys, and keys that their cards name."""
    for module, words in METRICS.items():
        if words.keys[0] != FORMS[module].headline:
            yield f"table of metrics: {module}: expected the headline {FORMS[module].headline}, got {words.keys[0]}"
        text = (Path(module_path(module)) / "README.md").read_text(encoding="utf-8")
        for key in words.keys:
            if f"`{key}`" not in text:
                yield f"table of metrics: {module}: expected a key of its card, got {key}"


def _splits(folder: Path, found: Manifest, faults: list[str]) -> Iterator[Split]:
    """The splits as they should be; what is wrong with the file of one goes to `faults`."""
    for config, parts in CONFIGS.items():
        for name in parts.splits:
            known = found.split(config, name)
            split = replace(
                known_split(config, name),
                number=known.number,
                ids_sha256=known.ids_sha256,
                references_sha256=known.references_sha256,
            )
            yield split
            path = folder / split.file
            if not path.is_file():
                faults.append(f"{split.file}: expected a file, found none")
                continue
            try:
                faults += _split(path, split)
            except SgevalError as fault:
                faults.append(one_line(" ".join(str(fault).replace(str(path), split.file).split())))


def _split(path: Path, split: Split) -> Iterator[str]:
    if CONFIGS[split.config].set is not None:
        row = row_of(path)
        for key, value in asdict(split).items():
            if key != "ids" and row.get(key) != value:
                yield f"{split.file}: {key}: expected {shown(value)}, got {shown(row.get(key))}"
    ids = ids_of(path, split)
    if ids is None and split.ids_sha256 is None:
        return
    if not isinstance(ids, list) or not all(isinstance(each, str) for each in ids):
        yield f"{split.file}: ids: expected a list of texts, got {shown(ids, 40)}"
    elif (len(set(ids)), digest(ids)) != (split.number, split.ids_sha256):
        expected = f"{split.number} with the digest {split.ids_sha256[:12]}" if split.ids_sha256 else "none"
        yield (
            f"{split.file}: ids: expected {expected}, as {MANIFEST} says, got {len(set(ids))} with the digest "
            f"{digest(ids)[:12]}"
        )


def _card(
    folder: Path, found: Manifest, ranked: Sequence[Task], published: Sequence[Table], splits: Sequence[Split]
) -> Iterator[str]:
    """The card: its YAML, its text line by line, its links, its example."""
    path = folder / card.README
    if not path.is_file():
        return
    if path.stat().st_size > MAX_BYTES:
        yield f"{card.README}: expected at most {MAX_BYTES:,} bytes, got {path.stat().st_size:,}"
        return
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return  # told with the files
    front = FRONT.match(text)
    if front is None:
        yield f"{card.README}: expected YAML between --- lines at the top, found none"
    else:
        try:
            head = parse_yaml(front[1], card.README)
            yield from _front(head, card.front_matter(found.repo, splits), folder)
        except SgevalError as fault:
            yield str(fault)
    if ranked:
        lines = text[front.end() if front else 0 :].strip("\n").split("\n")
        yield from _body(lines, card.body(found.repo, ranked, published, splits).strip("\n").split("\n"))
    for tag in HTML.findall(text):
        yield f"{card.README}: expected no HTML, got {shown(tag)}"
    for target in LINK.findall(text):
        if not target.startswith(("https://", "#")) and not _is_inside(folder, target):
            yield f"{card.README}: expected a link to a file of the bundle or to https://, got {shown(target)}"
    examples = EXAMPLE.findall(text)
    if not examples:
        yield f"{card.README}: expected an example of results as YAML, found none"
    for example in examples:
        try:
            for entry in read_entries(example, f"{card.README}: example of results"):
                if ranked and entry.task_id not in [task.id for task in ranked]:
                    yield f"{card.README}: example of results: expected a task of the bundle, got {shown(entry.task_id)}"
        except SgevalError as fault:
            yield str(fault)


def _body(lines: Sequence[str], expected: Sequence[str]) -> Iterator[str]:
    """Lines of the card that are missing, changed or too many. After the last one a text of one's own may follow, without
    tables and code, which would pass for those of the bundle; a warning tells of it."""
    here = set(lines)
    missing = [line for line in dict.fromkeys(expected) if line not in here]
    for line in missing:
        around = lines[max(0, expected.index(line) - NEAR) :][: 2 * NEAR]
        alike = [each for each in around if each[:1] == line[:1] and len(each) < 2 * len(line)]
        near = get_close_matches(line, alike, n=1, cutoff=0.5)
        yield f"{card.README}: expected the line {shown(line, 200)}, got {shown(near[0], 200) if near else 'none'}"
    if missing:
        return
    for line, right in zip(lines, expected, strict=False):
        if line != right:
            yield f"{card.README}: expected the line {shown(right, 200)} in its place, got {shown(line, 200)}"
            return
    if len(lines) < len(expected):
        yield f"{card.README}: expected the line {shown(expected[len(lines)], 200)} at its end, got none"
    more = [line for line in lines[len(expected) :] if line.strip()]
    for line in more:
        if "|" in line or FENCE.match(line):
            yield f"{card.README}: expected no table and no code after the bundle's own, got {shown(line, 200)}"
    if more:
        words = f"{counted(len(more), 'line')} after the card of the bundle, not checked: {shown(more[0], 200)}"
        warnings.warn(f"{card.README}: {words}{' …' if len(more) > 1 else ''}", stacklevel=2)


def _is_inside(folder: Path, target: str) -> bool:
    name = target.split("#")[0]
    try:
        return (folder / name).resolve().is_relative_to(folder.resolve()) and (folder / name).is_file()
    except (OSError, ValueError):
        return False


def _front(head: Any, expected: Mapping[str, Any], folder: Path) -> Iterator[str]:
    if not isinstance(head, dict):
        yield f"{card.README}: expected keys and values at the top, got {shown(head)}"
        return
    for key, value in expected.items():
        if head.get(key) != value:
            yield f"{card.README}: {key}: expected {shown(value, 160)}, got {shown(head.get(key), 160)}"
    for config in expected["configs"]:
        for entry in config["data_files"]:
            if not (folder / entry["path"]).is_file():
                yield f"{card.README}: configs: {config['config_name']}: expected the file {entry['path']}, found none"


def _results(folder: Path) -> Iterator[str]:
    """Result files that lie in the bundle, as the Hub would take them."""
    for path in sorted((folder / FOLDER).glob("*.yaml")) if (folder / FOLDER).is_dir() else ():
        place = f"{FOLDER}/{one_line(path.name)}"
        try:
            entries_of(read_yaml(path, place), place)
        except SgevalError as fault:
            yield str(fault)
