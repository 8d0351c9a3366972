"""What a run holds, as reports and the terminal tell it: what was scored, what was not, and why there is no score."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from sgeval import alignment
from sgeval.errors import counted
from sgeval.relclip import image_table
from sgeval.report.text import agreed, number
from sgeval.runs import Run
from sgeval.signature import parts_of

WHY_UNDEFINED: Mapping[str, str] = {
    "bad_image": "could not be read",
    "objects": "{has|have} fewer than two objects with a box",
    "no_gold_pair": "{has|have} no pair of objects with boxes that the reference relates",
    "no_number": "got no finite number from the model",
    "no_value": "{has|have} p − k of 0 or less, where eq. 3 as printed has no value",
    "skipped": '{has|have} no scored relation and {is|are} left out (empty="skip")',
}
"""Why a picture has no defined score."""

WHY_UNSCORED: Mapping[str, str] = {
    "self": "{relates|relate} an object to itself",
    "duplicate": "{repeats|repeat} another one of the picture",
    "invalid": "{breaks|break} the format, or {names|name} objects that are unknown, without a box or outside the picture",
    "singleton": "{has|have} no other candidate than the truth",
    "unlisted": "{is|are} not in the vocabulary",
    "unmatched": "{has|have} boxes that match no pair of the reference",
    "other_pair": "{is|are} on pairs that the reference does not relate",
    "undefined": "got no finite number from the model",
    "bad_image": "{belongs|belong} to a picture that could not be read",
}
"""Why a relation was not scored, by its status."""


def scored_items(run: Run) -> list[Any]:
    """The scored relations, rows of the run's own metric, in the order of picture and position."""
    found = [item for item in run.rows.items if item.status == "scored" and number(item.score) is not None]
    return sorted(found, key=lambda item: (item.image_id, item.index))


def undefined_pictures(run: Run) -> dict[str, str]:
    """The pictures without a defined score, each with a key of `WHY_UNDEFINED`."""
    no_number = {item.image_id for item in run.rows.items if item.status == "undefined"}
    found = {}
    for row in image_table(run.rows, run.options):
        if row["penalised_score"] is not None:
            continue
        key = row["image_id"]
        if row["status"] == "bad_image":
            found[key] = "bad_image"
        elif row["n_gold_pairs"] == 0:
            found[key] = "no_gold_pair"
        elif row["k"]:
            found[key] = "no_value"
        elif row["m"] < 2:
            found[key] = "objects"
        else:
            found[key] = "no_number" if key in no_number else "skipped"
    return found


def why_nothing(run: Run) -> str:
    """For a run without a score, or without a single scored relation: why, in words. Empty for any other."""
    if run.metric == alignment.KEY:
        return _why_no_theta(run)
    is_undefined = number(run.result.get(run.metric)) is None
    any_scored = bool(scored_items(run))
    if any_scored and not is_undefined:
        return ""
    undefined = Counter(undefined_pictures(run).values())
    words = []
    if is_undefined:
        words.append(f"No picture has a defined score{_listed(undefined, WHY_UNDEFINED)}.")
    else:
        n = len(run.rows.images) - undefined.total()
        words.append(f"No relation was scored; {counted(n, 'picture')} {agreed('{counts|count}', n)} as 0.")
        if undefined:
            words.append(f"The others have no defined score{_listed(undefined, WHY_UNDEFINED)}.")
    if not any_scored:
        statuses: Counter[str] = Counter(item.status for item in run.rows.items)
        statuses["invalid"] += sum(row.n_invalid_relations for row in run.rows.images)
        predicted = counted(statuses.total(), "predicted relation")
        words.append(
            f"Of {predicted} none was scored{_listed(statuses, WHY_UNSCORED)}."
            if statuses.total()
            else "The predictions hold no relation for these pictures."
        )
    return " ".join([*words, *_lost_before(run)])


def _why_no_theta(run: Run) -> str:
    """The same for θ: there is none where no relation was ranked."""
    if number(run.result.get(run.metric)) is not None:
        return ""
    statuses = Counter("singleton" if item.status == "scored" else item.status for item in run.rows.items)
    statuses["invalid"] += sum(row.n_invalid_relations for row in run.rows.images)
    if not statuses.total():
        return " ".join(["The references hold no relation for these pictures.", *_lost_before(run)])
    annotated = counted(statuses.total(), "annotated relation")
    return " ".join([f"Of {annotated} none was ranked{_listed(statuses, WHY_UNSCORED)}.", *_lost_before(run)])


def _lost_before(run: Run) -> list[str]:
    n = run.rows.n_invalid
    return [agreed(f"{n:,} faulty {{part|parts}} of the input {{was|were}} left out before.", n)] if n else []


def _listed(counts: Mapping[str, int], meanings: Mapping[str, str]) -> str:
    parts = [f"{counts[key]:,} {agreed(words, counts[key])}" for key, words in meanings.items() if counts.get(key)]
    return ": " + ", ".join(parts) if parts else ""


def why_no_interval(run: Run, n_pictures: int) -> str:
    """Why a score over so many pictures has no interval."""
    if not run.options.bootstrap:
        return "No interval: the run was made without bootstrap."
    if n_pictures == 1:
        return "No interval: one picture is too few."
    return "No interval: the pictures show no spread."


def first_only(run: Run) -> str:
    """For a run with `limit`: what it stopped after, in words. Empty for any other."""
    limit = parts_of(run.signature).get("limit") or str(run.inputs.get("limit") or "")
    if not limit.isdecimal():
        return ""
    kind = "reference" if getattr(run.rows, "with_references", True) else "prediction"
    return f"the first {counted(int(limit), kind)} only" if int(limit) != 1 else f"the first {kind} only"
