"""The judge `embedding:MODEL`: how near two labels are to a sentence model, cut into categories on the gold set."""

import hashlib
import json
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgeval.errors import ModelUnavailable, shown
from sgeval.judges.gold import GOLD, gold_digest, read_gold
from sgeval.judges.labels import normal
from sgeval.judges.verdicts import CATEGORIES, Category, Pair, Verdict

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Encode = Callable[[list[str]], npt.NDArray[np.float32]]

PREFIX = "embedding:"
STORED = GOLD.with_name("embedding_cuts.json")
HUB_WAIT = 10.0  # seconds
NEVER = 2.0  # a cosine that no pair reaches
USUAL = "sentence-transformers/"
"""The owner of models that are named without one."""
HELD = (".safetensors", ".json", ".txt", ".model")
"""Endings of the files of a folder that make a model what it is: weights, configurations, vocabularies."""


@dataclass(frozen=True)
class Cuts:
    """The least cosine of each category, the closest category first; what is below all of them is a mismatch."""

    identical: float
    synonym: float
    hypernym: float
    overlap: float

    def category(self, cosine: float) -> Category:
        """The category of a cosine.

        >>> Cuts(0.95, 0.8, 0.6, 0.5).category(0.7)
        'hypernym'
        """
        for category in CATEGORIES[:-1]:
            if cosine >= float(getattr(self, category)):
                return category
        return "mismatch"


class Embedding:
    """Judge by the cosine of two labels' embeddings. Needs the extra `embedding` (sentence-transformers).

    The four cuts are those stored for the repository, fitted on the dev part of the gold set; for another model, and for a
    folder whatever its name, they are fitted on first use, and a warning says so. A cosine knows no opposites: "left of"
    and "right of" are near each other. `name` has the whole id of the repository, or of a folder a digest of its files.

    `encode` takes a list of texts and gives one vector a text; without it the model is loaded by its name, or from a folder.
    `cuts` win over both.

    Raises `ModelUnavailable` when the library or the model cannot be had.
    """

    def __init__(self, model: str, encode: "Encode | None" = None, cuts: Cuts | None = None) -> None:
        model, is_folder = found_as(model)
        self.name = f"{PREFIX}{folder_name(Path(model)) if is_folder else model}"
        self._encode = encode or _load(model)
        self.cuts = cuts or (None if is_folder else stored_cuts(model)) or self._fitted()

    def __call__(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """One verdict a pair, in order."""
        return [Verdict(self.cuts.category(cosine)) for cosine in self.cosines(pairs)]

    def cosines(self, pairs: Sequence[Pair]) -> list[float]:
        """The cosines of pairs. Each distinct text is encoded once, in the order of the alphabet."""
        import numpy as np

        sides = [(normal(pair.reference, pair.kind), normal(pair.prediction, pair.kind)) for pair in pairs]
        texts = sorted({text for side in sides for text in side})
        if not texts:
            return []
        vectors = np.asarray(self._encode(texts), np.float64)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = vectors / np.where(lengths > 0, lengths, 1)
        place = {text: index for index, text in enumerate(texts)}
        left, right = ([place[side[index]] for side in sides] for index in (0, 1))
        found: list[float] = np.einsum("ij,ij->i", vectors[left], vectors[right]).tolist()
        return found

    def _fitted(self) -> Cuts:
        rows = read_gold("dev")
        cuts = fit_cuts(self.cosines([row.pair for row in rows]), [row.category for row in rows])
        warnings.warn(
            f"judge {self.name}: no cuts are stored for this model; fitted on the {len(rows)} dev pairs of the gold set: "
            + ", ".join(f"{name} from {value:.3f}" for name, value in asdict(cuts).items()),
            stacklevel=3,
        )
        return cuts


def _load(model: str) -> "Encode":
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as fault:
        words = f'judge {PREFIX}{model}: expected sentence-transformers (pip install "sgeval[embedding]"), got {fault}'
        raise ModelUnavailable(words) from fault
    try:
        loaded: Any = _loaded(SentenceTransformer, model)
    except (OSError, ValueError) as fault:
        first = (str(fault).splitlines() or [type(fault).__name__])[0]
        raise ModelUnavailable(f"judge {PREFIX}{model}: the model cannot be had: {shown(first, 200)}") from fault

    def encode(texts: list[str]) -> "npt.NDArray[np.float32]":
        vectors: npt.NDArray[np.float32] = loaded.encode(texts, batch_size=64, show_progress_bar=False)
        return vectors

    return encode


def _loaded(kind: Any, model: str) -> Any:
    """The model from its folder or the local cache; the Hub is asked for what is not there, and once only where it does not
    answer."""
    from huggingface_hub import try_to_load_from_cache

    held: dict[str, Any] = {"model_kwargs": {"use_safetensors": True}}
    is_folder = Path(model).is_dir()
    if not is_folder and try_to_load_from_cache(model, "modules.json") is not None:
        with suppress(OSError, ValueError):  # it may be there in part
            return kind(model, local_files_only=True, **held)
    return kind(model, local_files_only=is_folder or not _is_on_the_hub(model), **held)


def _is_on_the_hub(model: str) -> bool:
    from huggingface_hub import HfApi

    try:
        HfApi().model_info(model, timeout=HUB_WAIT)
    except Exception:  # of several libraries; why it is not to be had is said when the files are looked for
        return False
    return True


def found_as(model: str) -> tuple[str, bool]:
    """What a model's name stands for, and whether that is a folder, which goes first: a name without an owner is the usual
    owner's where cuts are stored for that.

    >>> found_as("all-MiniLM-L6-v2"), found_as("someone/all-MiniLM-L6-v2")
    (('sentence-transformers/all-MiniLM-L6-v2', False), ('someone/all-MiniLM-L6-v2', False))
    """
    if not Path(model).is_dir() and USUAL + model in _stored()["models"]:
        model = USUAL + model
    return model, Path(model).is_dir()


def folder_name(folder: Path) -> str:
    """A folder's own name with a digest of the model's files in it: names of folders say nothing of what is inside."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.suffix in HELD and path.is_file()):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(json.dumps([path.relative_to(folder).as_posix(), content]).encode())
    return f"{folder.resolve().name} (folder {digest.hexdigest()[:12]})"


def stored_cuts(repository: str) -> Cuts | None:
    """The cuts that are stored for the whole id of a repository; none once the gold set has changed."""
    stored = _stored()
    found = stored["models"].get(repository) if stored["gold"] == gold_digest() else None
    return Cuts(**found) if found else None


@cache
def _stored() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return loaded


def fit_cuts(cosines: Sequence[float], categories: Sequence[Category]) -> Cuts:
    """The cuts with the highest mean of the five categories' recalls. Found exactly, by dynamic programming over the sorted
    cosines; a cut lies half-way between two that differ.

    >>> fit_cuts([0.9, 0.7, 0.2], ["synonym", "hypernym", "mismatch"]).synonym
    0.8
    """
    ordered = sorted(zip(cosines, categories, strict=True), key=lambda item: -item[0])
    values = [cosine for cosine, _ in ordered]
    n = len(values)
    places = [index for index in range(n + 1) if index in (0, n) or values[index - 1] > values[index]]
    gains = []
    for category in CATEGORIES:
        share = 1 / max(1, sum(one == category for _, one in ordered))
        total = [0.0]
        for _, one in ordered:
            total.append(total[-1] + (share if one == category else 0.0))
        gains.append(total)
    best: dict[int, tuple[float, tuple[int, ...]]] = {end: (gains[0][end], (end,)) for end in places}
    for gain in gains[1:-1]:
        best = {
            end: max(
                (
                    (score + gain[end] - gain[start], (*cuts, end))
                    for start, (score, cuts) in best.items()
                    if start <= end
                ),
                key=lambda item: item[0],
            )
            for end in places
        }
    _, ends = max(
        ((score + gains[-1][n] - gains[-1][end], cuts) for end, (score, cuts) in best.items()), key=lambda item: item[0]
    )
    return Cuts(*(_between(values, end) for end in ends))


def _between(values: Sequence[float], place: int) -> float:
    """A cosine that `place` of the values, the highest first, are at or above."""
    if place == 0:
        return NEVER
    return (values[place - 1] + values[place]) / 2 if place < len(values) else -NEVER
