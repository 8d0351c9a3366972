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
    "gold_pair_coverage": "Coverage of annotated pairs",
    "ref_relclipscore": "Reference score",
    "exact_match": "Exact match",
    "exact_match_relations": "Exact match, all relations",
    "exact_match_normalised": "Exact match, normalised",
    "exact_match_normalised_relations": "Exact match, normalised, all relations",
}

OF_GOLD_PAIRS: Mapping[str, str] = {
    "mean_score": (
        "Mean over pictures of the mean over the pairs that the reference relates, 0 where nothing was predicted, "
        "without the penalty (eq. 2)."
    ),
    "mean_score_relations": "Mean over all pairs that the references relate, 0 where nothing was predicted.",
    "gold_pair_coverage": "Share of the pairs that the references relate for which a relation was scored.",
}
"""Where the pairs of the references are what is scored."""

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
    "n_gold_pairs": "{pair|pairs} of objects that the references relate; what is scored",
    "n_ref": "scored {relation|relations} whose ordered pair has a reference",
}
"""Counts that say how much was scored. `{one|many}` agrees with the count."""

ROLE_SCOPE: Mapping[str, str] = {
    "n_pictures": "{picture|pictures} with a scored frame",
    "n_frames": "{frame|frames} scored",
    "n_person_frames": "of these: {a person|persons}",
    "n_object_frames": "of these: {an object|objects}",
    "n_verb_frames": "of these: {the verb|verbs} of a person–object pair",
    "n_verbs": "{pair|pairs} with a verb, those without roles too; what the verb is scored over",
    "n_roles": "{role|roles} in the scored frames",
    "n_several_values": "of these: with more than one annotated value",
}

ROLE_SKIPPED: Mapping[str, str] = {
    "n_missing_frames": "{frame or verb|frames or verbs} that the predictions lack; wrong",
    "n_missing_roles": "{role|roles} without a predicted value, those of missing frames too; wrong",
    "n_wrong_verbs": "{pair|pairs} whose verb was not predicted",
    "n_no_verb": "of these: without any predicted verb",
    "n_over_limit": "predicted {value|values} beyond the number that counts for a role; ignored",
    "n_extra_roles": "predicted {role that its frame|roles that their frames} in the annotation {does|do} not have; ignored",
    "n_several_predicted": "{role|roles} with more than one predicted value; any of them counts",
    "n_empty_frames": "annotated {frame|frames} without a role; left out of the role scores",
    "n_extra_verb_frames": "further annotated verb {frame|frames} of a pair; only the first is scored",
    "n_extra_predicted": "further predicted verb {frame|frames} of a pair; only the first counts",
    "n_unknown_frames": "predicted {frame|frames} that the annotation does not have; left out",
    "n_invalid": "faulty {row or role|rows and roles} of the input; left out",
}
"""The same for role values."""

SKIPPED: Mapping[str, str] = {
    "n_empty": (
        "{picture|pictures} with two or more objects and no scored relation "
        "({it scores|they score} 0, or {is|are} left out on request)"
    ),
    "n_undefined": (
        "{picture|pictures} without a defined score, for instance with fewer than two objects; left out of the mean"
    ),
    "n_unanswered_pairs": "{pair|pairs} of the references without a scored relation; {it counts|they count} as 0",
    "n_no_gold_pair": "{picture|pictures} whose reference relates no pair of objects with boxes; left out of the mean",
    "n_other_pairs": "{relation|relations} on pairs that the reference does not relate; not scored",
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
    "n_truncated": "scored {relation|relations} with a text longer than the model reads; the text is cut at its end",
}
"""Counts of what was skipped, mended or is to be taken with care."""

GOLD_SKIPPED: Mapping[str, str] = {
    **SKIPPED,
    "n_empty": "{picture|pictures} with an annotated pair and no scored relation; {it scores|they score} 0",
    "n_missing": "{picture|pictures} that the predictions lack; {its|their} annotated pairs count as 0",
}
"""The same where the pairs of the references are what is scored."""

THETA_SCOPE: Mapping[str, str] = {
    "n_images": SCOPE["n_images"],
    "n_scored_images": "{picture|pictures} with a ranked relation",
    "n_annotated": "{relation|relations} annotated",
    "n_relations": "{relation|relations} ranked among the candidates of {its|their} pair of classes",
    "n_direction": "{relation|relations} in the test of direction",
}

THETA_SKIPPED: Mapping[str, str] = {
    "n_singletons": (
        "{relation|relations} whose pair of classes has no other candidate than the truth (not ranked, or ranked on request)"
    ),
    "n_unlisted": (
        "{relation|relations} whose predicate the vocabulary does not list for {its|their} pair of classes; left out"
    ),
    "n_ties": "ranked {relation|relations} whose truth has the same score as another candidate",
    "n_near_ties": (
        "ranked {relation|relations} with another candidate within 0.0001 of the truth; {its rank|their ranks} may change "
        "with the hardware"
    ),
    **{
        key: SKIPPED[key]
        for key in (
            "n_undefined_relations",
            "n_duplicates",
            "n_self",
            "n_invalid",
            "n_invalid_relations",
            "n_bad_images",
            "n_bad_image_relations",
            "n_clipped_boxes",
            "n_outside_boxes",
            "n_endpoint_cut",
            "n_truncated",
        )
    },
}
"""The same for θ."""


TEMPORAL_SCOPE: Mapping[str, str] = {
    "n_videos": "annotated {video|videos}",
    "n_objects": "annotated {object|objects}",
    "n_attributes": "annotated {attribute|attributes}",
    "n_relations": "annotated {relation|relations}",
    "n_predicted_objects": "predicted {object|objects}",
    "n_predicted_attributes": "predicted {attribute|attributes}",
    "n_predicted_relations": "predicted {relation|relations}",
    "n_pairs": "distinct {pair|pairs} of labels that met",
    "n_equal_pairs": "of these: equal, never asked",
}

TEMPORAL_SKIPPED: Mapping[str, str] = {
    "n_missing_videos": "{video that the predictions lack|videos that the predictions lack}; all in {it|them} is wrong",
    "n_unknown_objects": "predicted {id|ids} of objects that the annotation does not have",
    "n_beyond_clip": "{span that reaches|spans that reach} past the ends of {its|their} video, on either side; kept as read",
    "n_inverted": "predicted {span that ends before it starts|spans that end before they start}; no overlap with anything",
    "n_zero_length": "annotated {relation|relations} whose spans have no length; equal to the same instants only",
    "n_without_span": "{relation|relations} without a span, on either side",
    "n_not_given": "annotated {object|objects} that the model was not given; left out with {its|their} relations",
    "n_other_level": "annotated {object|objects} of another level; left out with {its|their} relations",
    "n_repeats": "predicted {relation or attribute|relations and attributes} that only {repeats|repeat} another; merged",
    "n_over_limit": "predicted {relation or attribute|relations and attributes} beyond the number that counts; wrong",
    "n_repaired_answers": "{answer|answers} of the model that had to be mended",
    "n_unread_answers": "{answer|answers} of the model in which there was nothing to read",
    "n_lost": "{part|parts} of answers that could not be read; not in the prediction",
    "n_invalid": "faulty {record, object or relation|records, objects and relations} of the input; left out",
    "n_refused_pairs": "{pair|pairs} whose predicted label is none; a mismatch, never asked",
    "n_repaired_pairs": "{pair|pairs} whose verdict was understood only after mending, or asking again",
    "n_unjudged_pairs": "{pair|pairs} without a verdict",
}
"""The same for SVG2 temporal accuracy."""


@dataclass(frozen=True)
class Counts:
    """The counts of a metric, and what is done with its relations."""

    scope: Mapping[str, str]
    skipped: Mapping[str, str]
    verb: str
    noun: str = "relation"
    whole: str = "picture"
    """What the relations are of."""


RELCLIP_COUNTS = Counts(SCOPE, SKIPPED, "scored")
GOLD_COUNTS = Counts(SCOPE, GOLD_SKIPPED, "scored")
ROLE_COUNTS = Counts(ROLE_SCOPE, ROLE_SKIPPED, "scored", "frame")
TEMPORAL_COUNTS = Counts(TEMPORAL_SCOPE, TEMPORAL_SKIPPED, "scored", "item", "video")
THETA_COUNTS = Counts(THETA_SCOPE, THETA_SKIPPED, "ranked")

THETA_NAMES: Mapping[str, str] = {
    "theta": "θ",
    "precision": "Precision",
    "mean_score": "Mean score",
    "direction_accuracy": "Direction accuracy",
    "above_no_predicate": "Above the two objects alone",
    "gap_no_predicate": "Gap to the two objects alone",
    "above_random_predicate": "Above a random predicate",
    "gap_random_predicate": "Gap to a random predicate",
}

RANKS: Mapping[str, Mapping[str, str]] = {
    "paper": {
        "theta": "Mean of 1 − rank / |L| (eq. 7): the rank of the truth by score, counted from 0, ties averaged.",
        "precision": "Share of relations whose truth is the best candidate; where n tie at the top it counts 1/n.",
    },
    "openvocsgg": {
        "theta": "Mean of 1 − place of the winner / |L|, the truth put first in its list: the authors' script, not eq. 7.",
        "precision": "Share of relations whose truth is the best candidate or ties with it.",
    },
}
"""What is ranked, by protocol."""

VALUES: Mapping[str, str] = {
    "cosine": "Mean of the model's own score of the annotated triplet (eq. 1).",
    "softmax100": "Mean softmax of 100 x score over the candidates, at the annotated triplet.",
}
"""What the mean score is the mean of, by the option `score`."""

BESIDE: Mapping[str, str] = {
    "direction_accuracy": "Share in which the annotated triplet beats the same with subject and object exchanged.",
    "above_no_predicate": "Share in which the triplet beats the text of its two objects without a predicate.",
    "gap_no_predicate": "Mean score of the triplet less that of the two objects: what the predicate adds.",
    "above_random_predicate": "Share in which the triplet beats the same with a predicate drawn from the vocabulary.",
    "gap_random_predicate": "Mean score of the triplet less that with the drawn predicate.",
}

SLICES: Mapping[str, Mapping[str, str]] = {
    "size_ratio": {
        "below 0.2": "the smaller box has less than a fifth of the area of the larger",
        "0.2 and above": "the smaller box has a fifth of the area of the larger, or more",
    },
    "distance": {
        "overlap": "the boxes have an area in common",
        "near": "no common area, and the nearest edges are less than a fifth of the picture's diagonal apart",
        "distant": "the nearest edges are a fifth of the picture's diagonal apart, or more",
    },
}
"""What the groups mean that relations are sliced by."""

UNKNOWN = "(a count of another version of sgeval)"
