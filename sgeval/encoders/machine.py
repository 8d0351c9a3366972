"""What is on this machine: the files of a model, looked for without loading them, and the devices to run it on."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sgeval.encoders.aliases import Alias
from sgeval.encoders.device import cpu_has_bf16, gpu_has_bf16
from sgeval.encoders.load import WEIGHTS
from sgeval.encoders.open_clip_family import PACKAGE, _source
from sgeval.errors import SgevalError, shown

OPEN_CLIP_FILES = {
    "config": ("open_clip_config.json",),
    "weights": ("open_clip_model.safetensors", "open_clip_pytorch_model.bin"),
}
TOKENIZER_FILES = ("tokenizer.json", "spiece.model", "vocab.txt", "vocab.json")
TRANSFORMERS_FILES = {
    "config": ("config.json",),
    "weights": ("model.safetensors", "model.safetensors.index.json"),
    "tokenizer": TOKENIZER_FILES,
    "preprocessing": ("preprocessor_config.json", "processor_config.json"),
}


@dataclass(frozen=True)
class Reach:
    """Whether a model can be loaded here without the network: where its files are looked for, and what is not there."""

    place: str
    missing: tuple[str, ...] = ()
    revision: str | None = None
    """Commit of the repository on the Hub that the files here are of."""


def reach(name: str, alias: Alias) -> Reach:
    """Look for the files of a model on this machine; nothing is loaded and the network is not asked.

    Raises `SgevalError` for a name whose library knows no such model.
    """
    if alias.library == "transformers":
        if Path(alias.identifier).is_dir():
            return _in_folder(Path(alias.identifier))
        return _on_hub(alias.identifier, TRANSFORMERS_FILES, alias.revision)
    source, weights = _source(name, alias)
    if source.startswith("local-dir:"):
        return _in_folder(Path(source.removeprefix("local-dir:")))
    if source.startswith("hf-hub:"):
        repository = source.removeprefix("hf-hub:")
        found = _on_hub(repository, OPEN_CLIP_FILES)
        config = _cached(repository, "open_clip_config.json")
        return _with_tokenizer(
            found, json.loads(Path(config).read_text(encoding="utf-8"))["model_cfg"] if config else {}
        )
    return _with_tokenizer(_pretrained(name, source, str(weights)), _built_in(name, source))


def _in_folder(folder: Path) -> Reach:
    place = "in the package" if folder.is_relative_to(PACKAGE) else str(folder)
    return Reach(place, () if any(any(folder.glob(f"*{ending}")) for ending in WEIGHTS) else ("weights",))


def _pretrained(name: str, architecture: str, weights: str) -> Reach:
    """The weights of an open_clip architecture: a file, or a tag of open_clip's table."""
    import open_clip

    if Path(weights).is_file():
        return Reach(weights)
    config = open_clip.get_pretrained_cfg(architecture, weights)
    if not config:
        raise SgevalError(f"model {shown(name)}: open_clip has no weights {shown(weights)} for {shown(architecture)}")
    if config.get("hf_hub"):
        repository, file = os.path.split(config["hf_hub"])
        files = OPEN_CLIP_FILES["weights"] if not file else (f"{Path(file).stem}.safetensors", file)
        return _on_hub(repository, {"weights": files})
    path = Path("~/.cache/clip").expanduser() / Path(config["url"]).name
    return Reach(config["url"], () if path.is_file() else ("weights",))


def _built_in(name: str, architecture: str) -> dict[str, Any]:
    import open_clip

    config = open_clip.get_model_config(architecture)
    if config is None:
        raise SgevalError(f"model {shown(name)}: open_clip has no architecture {shown(architecture)}")
    return dict(config)


def _with_tokenizer(found: Reach, config: dict[str, Any]) -> Reach:
    """open_clip keeps some tokenizers in a repository of their own."""
    repository = config.get("text_cfg", {}).get("hf_tokenizer_name")
    if not repository or _on_hub(repository, {"": TOKENIZER_FILES}).missing == ():
        return found
    return replace(found, missing=(*found.missing, f"tokenizer ({repository})"))


def _on_hub(repository: str, parts: Mapping[str, Sequence[str]], revision: str | None = None) -> Reach:
    """Of each part, one of its files must be in the cache of the Hub."""
    paths = {
        part: next((path for file in files if (path := _cached(repository, file, revision))), None)
        for part, files in parts.items()
    }
    missing = tuple(part for part, path in paths.items() if path is None or not _is_whole(repository, path, revision))
    commits = [Path(path).parts for path in paths.values() if path]
    commit = next((parts[parts.index("snapshots") + 1] for parts in commits if "snapshots" in parts), None)
    return Reach(repository, missing, commit)


def _is_whole(repository: str, path: str, revision: str | None) -> bool:
    """Whether each part of split weights is there too."""
    if not path.endswith(".index.json"):
        return True
    parts = set(json.loads(Path(path).read_text(encoding="utf-8"))["weight_map"].values())
    return all(_cached(repository, part, revision) for part in parts)


def _cached(repository: str, file: str, revision: str | None = None) -> str | None:
    from huggingface_hub import try_to_load_from_cache

    try:
        path = try_to_load_from_cache(repository, file, revision=revision)
    except ValueError:  # not the form of a repository's name
        return None
    return path if isinstance(path, str) else None


def devices() -> dict[str, Any]:
    """What there is to run on: cores, GPUs, and which of them have bfloat16 in hardware."""
    import torch

    gpus = []
    for number in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        properties = torch.cuda.get_device_properties(number)
        memory = round(properties.total_memory / 2**30, 1)
        gpus.append({"name": properties.name, "memory_gib": memory, "bf16": gpu_has_bf16(number)})
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"cpu": {"cores": cores, "threads": torch.get_num_threads(), "bf16": cpu_has_bf16()}, "gpus": gpus}
