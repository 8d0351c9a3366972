"""From placed relations to what each is scored against: its candidates, its swap, itself without its predicate."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np

from sgeval.alignment.options import Options
from sgeval.alignment.rows import Item
from sgeval.boxes import gap, overlapping, size_ratio
from sgeval.errors import shown
from sgeval.phrases import triplet_text
from sgeval.planning import Texts
from sgeval.relclip.resolve import Picture
from sgeval.rows import RelationRow
from sgeval.vocabulary import Vocabulary, class_key, predicate_key

_COMMON = tuple(entry.name for entry in fields(RelationRow))


@dataclass(frozen=True)
class Question:
    """What is asked of the model for one relation, as numbers of texts."""

    predicates: tuple[str, ...]
    """The candidates' keys, the truth's among them."""
    texts: tuple[int, ...]
    """One a candidate."""
    truth: int
    """Position of the truth among them."""
    swap: int | None
    bare: int
    drawn: str | None
    """The predicate drawn at random."""
    random: int | None

    @property
    def all_texts(self) -> tuple[int, ...]:
        """Every text: the candidates', then the others that there are."""
        return (*self.texts, self.bare, *(text for text in (self.swap, self.random) if text is not None))


@dataclass
class Questions:
    """Makes the questions of a run; texts are numbered once, whoever asks for them."""

    vocabulary: Vocabulary
    template: str
    options: Options
    texts: Texts = field(default_factory=Texts)
    _triplets: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._by_place = tuple(self.vocabulary.predicates.values())
        self._places = {key: place for place, key in enumerate(self.vocabulary.predicates)}

    def items(self, picture: Picture) -> tuple[list[Item], dict[int, Question]]:
        """The rows of a picture's relations, and the question of each that is to be scored, by its index."""
        truths = self._truths(picture.items)
        items: list[Item] = []
        questions: dict[int, Question] = {}
        for placed in picture.items:
            item = Item(**{name: getattr(placed, name) for name in _COMMON})
            if item.status == "scored":
                truth = predicate_key(item.predicate, self.options.normalisation)
                also_true = truths[item.subject_id, item.object_id]
                predicates = self._candidates(item, truth, also_true)
                if truth not in predicates:
                    pair = f"{shown(item.subject)} and {shown(item.object)}"
                    expected = f"one of the vocabulary's {len(predicates)} predicates of {pair}"
                    reason = f"expected {expected}, got {shown(item.predicate)}"
                    item = replace(item, status="unlisted", reason=reason)
                else:
                    question = self._question(item, predicates, truth, also_true)
                    questions[item.index] = question
                    item = self._measured(item, question, picture)
            items.append(item)
        return items, questions

    def _truths(self, items: Iterable[RelationRow]) -> Mapping[tuple[int, int], set[str]]:
        """All predicates that are annotated for an ordered pair of objects."""
        found: dict[tuple[int, int], set[str]] = {}
        for item in items:
            key = predicate_key(item.predicate, self.options.normalisation)
            found.setdefault((item.subject_id, item.object_id), set()).add(key)
        return found

    def _candidates(self, item: Item, truth: str, also_true: set[str]) -> Mapping[str, str]:
        """Key and spelling of what is ranked. Their order is of use to the authors' script alone; else it is that of the
        alphabet, so that rows do not hang on the order of a file."""
        found = self.vocabulary.candidates(item.subject, item.object)
        if self.options.protocol == "paper":
            found = dict(sorted(found.items()))
        if self.options.cooccurring == "keep":
            return found
        return {key: spelling for key, spelling in found.items() if key == truth or key not in also_true}

    def _question(self, item: Item, predicates: Mapping[str, str], truth: str, also_true: set[str]) -> Question:
        subject, obj = item.subject, item.object
        spelling = predicates[truth]
        one_class = class_key(subject, self.options.normalisation) == class_key(obj, self.options.normalisation)
        swaps = not one_class and item.group not in self.options.symmetric
        swap = self._text(obj, spelling, subject) if swaps else None
        drawn = self._drawn(item, also_true)
        return Question(
            tuple(predicates),
            tuple(self._text(subject, predicate, obj) for predicate in predicates.values()),
            list(predicates).index(truth),
            swap if swap != self._text(subject, spelling, obj) else None,  # equal texts say nothing of direction
            self._text(subject, "", obj),
            drawn,
            self._text(subject, drawn, obj) if drawn else None,
        )

    def _drawn(self, item: Item, also_true: set[str]) -> str | None:
        """A predicate that is not annotated for the pair, all alike likely. The draw hangs on the seed and on what the
        relation is, not on what came before it."""
        places = self._places
        barred = sorted(places[key] for key in also_true if key in places)
        if len(barred) == len(places):
            return None
        what = (self.options.seed, item.image_id, item.subject_id, item.object_id, item.group)
        number = int.from_bytes(hashlib.sha256(repr(what).encode("utf-8", "surrogatepass")).digest()[:8], "big")
        place = number % (len(places) - len(barred))
        for position in barred:
            place += position <= place
        return self._by_place[place]

    def _text(self, subject: str, predicate: str, obj: str) -> int:
        known = self._triplets.setdefault((subject, obj), {})
        if predicate not in known:
            text = triplet_text(subject, predicate, obj, self.template, self.options.normalisation)
            known[predicate] = self.texts.add(text)
        return known[predicate]

    def _measured(self, item: Item, question: Question, picture: Picture) -> Item:
        """The row with the text that is scored and how its two boxes lie."""
        subject, obj = np.array(item.subject_box), np.array(item.object_box)
        diagonal = float(np.hypot(picture.row.width or 0, picture.row.height or 0))
        return replace(
            item,
            text=self.texts.texts[question.texts[question.truth]],
            n=len(question.texts),
            size_ratio=float(size_ratio(subject, obj)),
            gap=float(gap(subject, obj)) / diagonal,
            overlap=bool(overlapping(subject, obj)),
        )


def confusers(question: Question, scores: Sequence[float]) -> tuple[str, ...]:
    """The predicates that scored higher than the truth, best first, ties by alphabet."""
    above = [
        (-score, predicate)
        for predicate, score in zip(question.predicates, scores, strict=True)
        if score > scores[question.truth]
    ]
    return tuple(predicate for _, predicate in sorted(above))
