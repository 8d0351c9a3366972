"""What the keys of a result mean, in one line each."""

from collections.abc import Mapping
from dataclasses import dataclass

SCORES: Mapping[str, str] = {
    "mean_score": "Mean over pictures of the mean relation score, without the penalty (eq. 2).",
    "mean_score_relations": "Mean over all scored relations, each counting the same.",
    "pair_coverage": "Share of the possible object pairs for which a relation was scored.",
    "ref_relclipscore": (
        "Harmonic mean of a relation's score and its text's likeness to the reference's text (eq. 5), "
        "over relations whose pair has a reference."
    ),
    "exact_match": "Share of predicates equal to the reference's, letter by letter; mean over pictures.",
    "exact_match_relations": "The same, over all relations with a reference.",
    "exact_match_normalised": "Share equal to the reference's after case, hyphens and underscores are made alike.",
    "exact_match_normalised_relations": "The same, over all relations with a reference.",
}

SCORE_NAMES: Mapping[str, str] = {
    "mean_score": "Mean score",
    "mean_score_relations": "Mean score, all relations",
    "pair_coverage": "Pair coverage",
    "ref_relclipscore": "Reference score",
    "exact_match": "Exact match",
    "exact_match_relations": "Exact match, all relations",
    "exact_match_normalised": "Exact match, normalised",
    "exact_match_normalised_relations": "Exact match, normalised, all relations",
}

WITH_REFERENCE = tuple(name for name in SCORES if name.startswith(("ref_", "exact_")))

PENALTIES: Mapping[str, str] = {
    "guarded": "divided by the penalty for pairs left untried (eq. 3), with a guard where few pairs are left",
    "bounded": "divided by the penalty for pairs left untried (eq. 3), bounded so that it never raises the mean",
    "literal": "divided by the penalty for pairs left untried (eq. 3, as printed)",
    "none": "without a penalty for pairs left untried (eq. 2)",
}

SCOPE: Mapping[str, str] = {
    "n_images": "{picture|pictures} in the run",
    "n_scored_images": "{picture|pictures} with a defined score; the headline is {its score|their mean}",
    "n_predicted": "{relation|relations} predicted",
    "n_relations": "{relation|relations} scored",
    "n_ref": "scored {relation|relations} whose ordered pair has a reference",
}
"""Counts that say how much was scored. `{one|many}` agrees with the count."""

SKIPPED: Mapping[str, str] = {
    "n_empty": (
        "{picture|pictures} with two or more objects and no scored relation "
        "({it scores|they score} 0, or {is|are} left out on request)"
    ),
    "n_undefined": (
        "{picture|pictures} without a defined score, for instance with fewer than two objects; left out of the mean"
    ),
    "n_undefined_relations": "{relation|relations} for which the model gave no finite number; left out",
    "n_guarded": (
        "{picture|pictures} with next to no pair left untried, where eq. 3 has no usable value; the guard's is taken"
    ),
    "n_duplicates": "{repeat|repeats} of a relation in the same picture; merged into one",
    "n_self": "{relation|relations} of an object with itself; left out",
    "n_unmatched": "{relation|relations} whose boxes match no pair of the reference; left out",
    "n_invalid": "faulty {record, object or relation|records, objects and relations} of the input; left out",
    "n_invalid_relations": (
        "of these: {relation that breaks|relations that break} the format, or whose objects are unknown, without a box "
        "or outside the picture"
    ),
    "n_bad_images": "{picture|pictures} that could not be read; left out with {its|their} relations",
    "n_bad_image_relations": "{relation|relations} of pictures that could not be read; left out",
    "n_missing": "{picture|pictures} that the predictions lack; scored as 0 where there are two objects or more",
    "n_clipped_boxes": "{box that sticks|boxes that stick} out of {its|their} picture; cut at the edge",
    "n_outside_boxes": "{box that lies|boxes that lie} wholly outside {its|their} picture",
    "n_endpoint_cut": (
        "scored {relation|relations} where the model's own crop loses over half of the subject or of the object"
    ),
    "n_truncated": "scored {relation|relations} whose text is longer than the model reads; the text is cut at its end",
}
"""Counts of what was skipped, mended or is to be taken with care."""


@dataclass(frozen=True)
class Counts:
    """The counts of a metric, and what is done with its relations."""

    scope: Mapping[str, str]
    skipped: Mapping[str, str]
    verb: str


RELCLIP_COUNTS = Counts(SCOPE, SKIPPED, "scored")

UNKNOWN = "(a count of another version of sgeval)"
