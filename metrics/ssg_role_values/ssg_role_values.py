"""Role values as an `evaluate` module: schema, docs and adapter. The metric itself is `sgeval.situation`."""

from typing import Any

import datasets
import evaluate

import sgeval.errors
import sgeval.hub.frames
import sgeval.hub.module
import sgeval.situation
import sgeval.situation.choices
import sgeval.situation.scoring

_DESCRIPTION = """
Role values of situational scene graphs: for each person, each object and the verb of each person-object pair, are the
values of its roles right? value, value_two, value_all: the share of frames with at least one, at least two, all roles
right; role_accuracy: the mean over roles; verb_accuracy. Percent, higher is better.
"""

_INPUTS = """
Args (configs "roles", the default, and "gold_verb"):
    predictions, references: rows {"frame_id", "kind": "person", "object" or "verb", "subject_id", "object_id", "verb",
        "roles": [{"role", "value"}]}, or scene graphs with roles. Matched by frame_id, kind, subject_id and object_id. Ids
        and verb are null where the kind has none; a role with several values has them as a list under "values".
    verb_setting: "top1" (a wrong verb makes its roles wrong) or "gold"; the config "gold_verb" is the second.
    max_values: of the predicted values of a role the first so many count; all when left out.
Args (config "vqa"):
    predictions: rows {"question_id", "answer"}: one of the options, its position from 0, or null for a refusal.
    references: rows {"question_id", "options", "answer", "task", "frame_id"}; the last two may be null.
Args (all):
    missing: "zero" (what the predictions lack is wrong) or "error".
    on_invalid, limit, bootstrap, seed, return_items: see the card.
Returns:
    value, value_two, value_all, role_accuracy, verb_accuracy, the same as person_..., object_..., verb_..., per_role_...
        over sets of values, role_precision, role_recall, role_f1, ceilings, n_... counts, signature; vqa: accuracy,
        task_accuracy, accuracy/TASK, chance_accuracy, counts, signature.
Examples:
    >>> import evaluate, sgeval
    >>> metric = evaluate.load(sgeval.path("ssg_role_values"))
    >>> frame = {"frame_id": "f1", "kind": "object", "object_id": 1, "roles": [{"role": "tool", "value": "pen"}]}
    >>> metric.compute(predictions=[frame], references=[frame])["value"]
    100.0
"""

_CITATION = """
@inproceedings{sugandhika2025situational,
  title     = {Situational Scene Graph for Structured Human-centric Situation Understanding},
  author    = {Sugandhika, Chinthani and Li, Chen and Rajan, Deepu and Fernando, Basura},
  booktitle = {WACV},
  year      = {2025},
  note      = {arXiv:2410.22829}
}
"""


class SsgRoleValues(sgeval.hub.module.Module):
    """The `evaluate` face of `sgeval.ssg_role_values`; the same numbers, exactly."""

    metric = "ssg_role_values"
    configs = sgeval.situation.CONFIGS
    nothing = "references: expected at least one, got none"

    def _info(self) -> Any:
        frames = sgeval.hub.frames
        sides = (frames.ANSWER, frames.QUESTION) if self.config_name == "vqa" else (frames.FRAME, frames.FRAME)
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=datasets.Features({"predictions": sides[0], "references": sides[1]}),
            homepage="https://arxiv.org/abs/2410.22829",
        )

    def add_batch(self, *, predictions: Any = None, references: Any = None, on_invalid: str = "error") -> None:
        """Add frames or questions of both sides; the two are matched by their ids, not by position, and may come apart.

        Faults are raised here, with their place. One batch with on_invalid="skip" makes the whole computation one with
        "skip", and the signature says so.
        """
        options = sgeval.situation.make_options({"on_invalid": on_invalid}, self.config_name)
        frames, mine, gold = sgeval.hub.frames, predictions or [], references or []
        if self.config_name == "vqa":
            choices = sgeval.situation.choices
            said = frames.answers_to_rows(choices.parse_answers(mine, options))
            asked = frames.questions_to_rows(choices.parse_questions(gold, options))
            fillers = (frames.NO_ANSWER, frames.NO_QUESTION)
        else:
            sides = sgeval.situation.scoring.parse_both(mine, gold, options)
            asked, said = map(frames.frames_to_rows, sides)
            fillers = (frames.NO_FRAME, frames.NO_FRAME)
        said, asked = frames.level(said, asked, fillers, options.on_invalid == "skip")
        if said:
            super().add_batch(predictions=said, references=asked)

    def _compute(
        self,
        predictions: list[dict[str, Any]],
        references: list[dict[str, Any]],
        limit: int | None = None,
        return_items: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        if any(row["skips"] for row in predictions):
            options["on_invalid"] = "skip"
        chosen = sgeval.situation.make_options(options, self.config_name)
        frames = sgeval.hub.frames
        if self.config_name == "vqa":
            said = frames.answers_from_rows(predictions, chosen.on_invalid)
            asked = frames.questions_from_rows(references, chosen.on_invalid)
            choices = sgeval.situation.choices
            return choices.result_of(said, asked, chosen, limit, return_items)
        mine = frames.frames_from_rows(predictions, "predictions", chosen.on_invalid)
        gold = frames.frames_from_rows(references, "references", chosen.on_invalid)
        return sgeval.situation.scoring.score_sides(mine, gold, chosen, limit=limit).result(return_items)
