"""What is to be said of a run of the demo model, in a report and in the terminal alike."""

import re
from dataclasses import dataclass

from sgeval.errors import counted
from sgeval.phrases import canonical, object_words, words
from sgeval.report.facts import scored_items
from sgeval.report.text import agreed, cut
from sgeval.rows import ImageRow, RelationRow
from sgeval.runs import Run
from sgeval.signature import parts_of

OBJECTS = frozenset(("dog", "cat", "ball", "car", "cup", "apple", "box", "table"))
PREDICATES = frozenset(("left of", "right of", "above", "below", "inside", "containing", "on", "under"))
SCENE = re.compile(r"scene_\d{3,}\.jpg")
SCENE_SIZE = (320, 320)
SHOWN = 12  # strange words that are listed

HINT = (
    "Scored with the demo model. It knows eight objects and eight predicates in drawn scenes; its scores mean nothing "
    "elsewhere."
)


@dataclass(frozen=True)
class DemoWarning:
    """Why the numbers of a demo run mean nothing: sentences on pictures and words, and the words themselves."""

    sentences: tuple[str, ...]
    words: tuple[str, ...]
    more: int
    """Words that are not listed."""

    @property
    def text(self) -> str:
        """All of it as one text."""
        words = ", ".join(self.words) + (f", and {self.more} more" if self.more else "")
        return " ".join(("These numbers mean nothing.", HINT, *self.sentences)) + (f" {words}." if words else "")


def is_demo(run: Run) -> bool:
    """Whether the run was scored with the demo model."""
    return parts_of(run.signature).get("model") == "demo"


def demo_warning(run: Run) -> DemoWarning | None:
    """For a run of the demo model over other pictures than drawn scenes, or with words that it does not know."""
    if not is_demo(run):
        return None
    pictures = [row for row in run.rows.images if row.file is not None]
    foreign = [row for row in pictures if not _is_scene(row)]
    strange = [each for each in map(_strange_words, scored_items(run)) if each]
    if not foreign and not strange:
        return None
    sentences = []
    if foreign:
        n = len(foreign)
        sentences.append(f"Of {counted(len(pictures), 'picture')}, {n:,} {agreed('{is|are}', n)} no such scene.")
    if strange:
        n, of = len(strange), counted(len(scored_items(run)), "scored relation")
        sentences.append(f"Of {of}, {n:,} {agreed('{uses|use}', n)} words that it does not know:")
    unknown = sorted(set().union(*strange))
    return DemoWarning(tuple(sentences), tuple(cut(word, 60) for word in unknown[:SHOWN]), max(len(unknown) - SHOWN, 0))


def _is_scene(row: ImageRow) -> bool:
    """Whether a picture has the name and the size that the program of the scenes gives; nothing else is known of it."""
    return bool(SCENE.fullmatch(row.file or "")) and (row.width, row.height) == SCENE_SIZE


def _strange_words(item: RelationRow) -> set[str]:
    ends = {object_words(label) for label in (item.subject, item.object)}
    strange = {label for label in ends if label.casefold() not in OBJECTS}
    return strange if canonical(item.predicate) in PREDICATES else {*strange, words(item.predicate)}
