"""What the bundle holds beside its specs: configs, metrics, licences, and what is not there. Words of the card, once."""

from collections.abc import Mapping
from dataclasses import dataclass

from sgeval.data.kinds import DataSet
from sgeval.data.reading import data_set

REPOSITORY = "ORG/sgeval-bundle"
"""Where the bundle lies on the Hub; ORG is for who pushes it to fill in (`sgeval bundle build --repo`)."""
FRAMEWORK = "sgeval"
TITLE = "sgeval: scene graphs of pictures and videos"
SUMMARY = (
    "Benchmarks of open-vocabulary scene graphs: relations of pictures without and with references, role values of "
    "situations, spatio-temporal graphs of videos; with the published tables as data."
)
TASK_CATEGORIES = ("image-to-text", "object-detection", "video-text-to-text")
TAGS = ("benchmark", "scene-graph", "visual-relationship", "evaluate", "sgeval")


@dataclass(frozen=True)
class Config:
    """The part of the bundle that is over one data set. `set` is its name in `sgeval data`, none for the demo scenes."""

    set: str | None
    reader: str | None
    """The config of the reader."""
    splits: tuple[str, ...]
    place: str
    """What the card calls the folder of the files."""
    images: str = ""
    """Where pictures are looked for below it."""

    @property
    def found(self) -> DataSet | None:
        """What is known of the data set."""
        return None if self.set is None else data_set(self.set)

    @property
    def form(self) -> str:
        """The data set as `--references-format` takes it."""
        found = self.found
        if found is None:
            return "sgeval"
        return found.name if self.reader == found.default_config else f"{found.name}:{self.reader}"

    def records(self, split: str) -> int | None:
        """How many records a split has as published."""
        found = self.found
        return None if found is None else found.published.get(str(self.reader), {}).get(split)

    def flags(self, metric: str, split: str) -> dict[str, str]:
        """The flags of `sgeval score` that name the data."""
        folder = self.place
        flags = {} if metric == "theta" else {"predictions": "mine.jsonl"}
        if self.set is None:
            return flags | {"references": f"{folder}/{split}.jsonl", "images": f"{folder}/images"}
        form = "format" if metric == "theta" else "references_format"
        flags |= {"references": folder, form: self.form, "split": split}
        with_pictures = metric in ("theta", "relclipscore")
        return flags | ({"images": f"{folder}/{self.images}".rstrip("/")} if with_pictures else {})


CONFIGS: Mapping[str, Config] = {
    "demo": Config(None, None, ("test",), "data/demo"),
    "psg": Config("psg", "full", ("test",), "PSG", "coco"),
    "vg150": Config("vg150", "reference", ("test",), "VG150"),
    "ssg": Config("ssg", "default", ("test",), "SSG"),
    "pvsg": Config("pvsg", "annotations", ("val",), "PVSG"),
    "vidor": Config("vidor", "annotations", ("val",), "VIDOR"),
    "vipseg": Config("vipseg", "720p", ("val",), "VIPSEG"),
    "svg2_test": Config("svg2_test", "annotations", ("test",), "SVG2"),
}


@dataclass(frozen=True)
class MetricWords:
    """A metric as the card's table tells it."""

    keys: tuple[str, ...]
    """The headline first, then what stands beside it."""
    range: str
    rule: str
    """Over what the headline is a mean."""


METRICS: Mapping[str, MetricWords] = {
    "relclipscore": MetricWords(
        ("relclipscore", "mean_score", "mean_score_relations"),
        "0 to 1.44 (1 / ln 2), shown × 100",
        "macro: the mean over pictures of eq. 3. `mean_score` is the same of eq. 2; `mean_score_relations` is micro, over "
        "all relations",
    ),
    "theta": MetricWords(
        ("theta", "precision", "chance_theta"), "0 to 1, shown × 100", "micro: the mean over ranked relations"
    ),
    "ssg_role_values": MetricWords(
        ("value", "value_two", "value_all", "role_accuracy"),
        "0 to 100, percent",
        "micro: the share of all frames. `role_accuracy` is macro, over role names",
    ),
    "svg2_temporal_accuracy": MetricWords(
        ("triplet_accuracy", "relation_accuracy", "object_accuracy", "attribute_accuracy"),
        "0 to 100, percent",
        'micro: the share of annotated items, pooled over videos. `average="video"` is macro and another protocol',
    ),
}
"""By module. All are higher when better."""

OWN_LICENCE = "Apache-2.0"
OWN_PARTS: Mapping[str, str] = {
    "Card, `eval.yaml`, specs": f"{OWN_LICENCE}, as sgeval. Published numbers are facts, quoted with their source.",
    "`demo`": f"{OWN_LICENCE}; the drawn objects come from Noto Color Emoji (SIL Open Font License 1.1).",
}
"""Licences of what sgeval brings; those of the data sets are in `sgeval.data.facts`."""

NOT_HERE = (
    "Table 2 of arXiv 2509.01209 lists confused triplets and no numbers (`sgeval report` of a θ run makes one); Table 8 is "
    "of detectors trained on the data (HICO-DET), which no metric here scores.",
    "Table 2 of arXiv 2602.23543: five of twelve models; its other results (questions about videos, tracking) are of no "
    "metric here.",
    "arXiv 2410.22829 (SSG): no result table could be had, so there is none.",
)
