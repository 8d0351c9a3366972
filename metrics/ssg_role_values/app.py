"""The Space of the role values: paste annotated and predicted frames, or questions with answers, and read what is right."""

from typing import Any

import gradio as gr

import sgeval
from sgeval.errors import SgevalError
from sgeval.hub import space
from sgeval.report.text import percent

PERSON = {"frame_id": "v1/3", "kind": "person", "subject_id": 0, "roles": [{"role": "pose", "value": "sitting"}]}
OBJECT = {"frame_id": "v1/3", "kind": "object", "object_id": 1}
CONTACT = {
    "frame_id": "v1/3",
    "kind": "verb",
    "subject_id": 0,
    "object_id": 1,
    "roles": [{"role": "tool", "value": "hand"}, {"role": "place", "value": "desk"}],
}
GOLD: list[dict[str, Any]] = [
    PERSON,
    {**OBJECT, "roles": [{"role": "color", "value": "red"}, {"role": "material", "values": ["glass", "plastic"]}]},
    {**CONTACT, "verb": "hold"},
]
SAID: list[dict[str, Any]] = [
    PERSON,
    {**OBJECT, "roles": [{"role": "color", "value": "blue"}, {"role": "material", "value": "glass"}]},
    {**CONTACT, "verb": "wipe"},
]
QUESTIONS: list[dict[str, Any]] = [
    {"question_id": 1, "task": "verb", "options": ["hold", "wipe", "touch"], "answer": "hold"},
    {"question_id": 2, "task": "place", "options": ["desk", "kitchen"], "answer": 1},
]
ANSWERS: list[dict[str, Any]] = [{"question_id": 1, "answer": 0}, {"question_id": 2, "answer": "desk"}]
SCORES = (
    "value",
    "value_two",
    "value_two_ceiling",
    "value_all",
    "role_accuracy",
    "per_role_value",
    "per_role_value_all",
)
KINDS = ("", "person_", "object_", "verb_")

Table = list[list[Any]]


def score_frames(said: str, gold: str, setting: str) -> tuple[Table, Table, dict[str, Any]]:
    """The scores by kind of frame, one row a role of each frame, and the flat result."""
    try:
        rows = (
            space.parsed_rows(said, "predictions"),
            space.parsed_rows(gold, "references"),
        )
        result = sgeval.ssg_role_values(*rows, verb_setting=setting, return_items=True)  # type: ignore[arg-type]
    except SgevalError as fault:
        raise gr.Error(str(fault), duration=None) from None
    table = [[name, *(percent(result[f"{kind}{name}"]) for kind in KINDS)] for name in SCORES]
    table.append(["verb_accuracy", "", "", "", percent(result["verb_accuracy"])])
    frames = [row for item in result["items"] for row in _rows(item)]
    return table, frames, {key: value for key, value in result.items() if not isinstance(value, list)}


def _rows(item: dict[str, Any]) -> Table:
    """The roles of a frame, each with what is annotated, predicted, and whether it counts."""
    ids = " and ".join(str(each) for each in (item["subject_id"], item["object_id"]) if each is not None)
    frame = " ".join(filter(None, (item["frame_id"], item["kind"], ids)))
    if item["kind"] == "verb":
        frame += f": {item['verb']}, predicted {item['predicted_verb'] or 'nothing'}"
    if item["status"] != "scored":
        return [[frame, "", "", "", item["reason"]]]
    return [
        [
            frame,
            role["role"],
            " or ".join(role["gold"]),
            " or ".join(role["predicted"]),
            "yes" if role["right"] else "no",
        ]
        for role in item["roles"]
    ]


def score_choices(said: str, gold: str) -> tuple[dict[str, Any], Table]:
    """The flat result of multiple choice, and one row a question."""
    try:
        rows = (
            space.parsed_rows(said, "predictions"),
            space.parsed_rows(gold, "references"),
        )
        result = sgeval.ssg_role_values(*rows, config="vqa", return_items=True)
    except SgevalError as fault:
        raise gr.Error(str(fault), duration=None) from None
    keys = ("question_id", "task", "answer", "predicted", "verdict")
    items = [["" if item[key] is None else str(item[key]) for key in keys] for item in result["items"]]
    return {key: value for key, value in result.items() if not isinstance(value, list)}, items


def _two(*labelled: Any) -> list[Any]:
    """Two boxes of rows beside each other, below each other where the page is narrow."""
    boxes = []
    with gr.Row():
        for label, rows in (labelled[:2], labelled[2:]):
            with gr.Column(min_width=320):
                text = space.one_a_line(rows)
                boxes.append(gr.Code(text, language="json", label=label, lines=2, max_lines=14, wrap_lines=True))
    return boxes


def build() -> Any:
    """The page."""
    with gr.Blocks(title="SSG role values") as page:
        gr.Markdown(
            "# SSG role values\nAre the role values of persons, objects and the verbs between them right? Percent, higher is "
            "better. A verb frame with a wrong verb has no role right (top-1)."
        )
        with gr.Tab("Role values"):
            gold_box, said_box = _two("Annotated frames, one a line", GOLD, "Predicted frames", SAID)
            with gr.Row():
                setting_box = gr.Radio(["top1", "gold"], value="top1", label="Verb setting")
                button = gr.Button("Score", variant="primary")
            table_box = gr.Dataframe(headers=["score", "all", "person", "object", "verb"], label="Scores")
            frames_box = gr.Dataframe(
                headers=["frame", "role", "annotated", "predicted", "right"], label="Roles", wrap=True
            )
            with gr.Accordion("All keys", open=False):
                result_box = gr.JSON(label="Result")
        with gr.Tab("Multiple choice"):
            asked_box, answer_box = _two("Questions, one a line", QUESTIONS, "Answers", ANSWERS)
            choice_button = gr.Button("Score", variant="primary")
            choice_result = gr.JSON(label="Result")
            choice_items = gr.Dataframe(
                headers=["question", "task", "right answer", "answer", "verdict"], label="Questions"
            )
        inputs, outputs = [said_box, gold_box, setting_box], [table_box, frames_box, result_box]
        asked, told = [answer_box, asked_box], [choice_result, choice_items]
        button.click(score_frames, inputs, outputs)
        choice_button.click(score_choices, asked, told)
        page.load(score_frames, inputs, outputs)
        page.load(score_choices, asked, told)
        with gr.Accordion("Card", open=False):
            gr.Markdown(space.card(__file__))
    return page


if __name__ == "__main__":
    build().launch()
