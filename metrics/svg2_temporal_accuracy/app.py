"""The Space of SVG2 temporal accuracy: paste annotated and predicted videos, and read what is right, by meaning and time."""

from typing import Any

import gradio as gr

import sgeval
from sgeval.errors import SgevalError
from sgeval.hub import space
from sgeval.report.text import percent
from sgeval.temporal import KINDS

OFFLINE = ("wordnet", "exact")
GOLD: list[dict[str, Any]] = [
    {
        "video_id": "v1",
        "duration": 12,
        "objects": [{"id": 0, "category": "dog", "attributes": ["brown"]}, {"id": 1, "category": "ball"}],
        "relations": [
            {"subject_id": 0, "object_id": 1, "predicate": "chasing", "spans": [{"start": 0, "end": 10}]},
            {"subject_id": -1, "object_id": 0, "predicate": "following", "spans": [{"start": 0, "end": 12}]},
        ],
    }
]
SAID: list[dict[str, Any]] = [
    {
        **GOLD[0],
        "objects": [{"id": 0, "category": "puppy", "attributes": ["dark", "brown"]}, {"id": 1, "category": "ball"}],
        "relations": [
            {"subject_id": 0, "object_id": 1, "predicate": "chasing", "spans": [{"start": 0, "end": 5}]},
            {"subject_id": -1, "object_id": 0, "predicate": "following", "spans": [{"start": 0, "end": 11}]},
        ],
    }
]

Table = list[list[Any]]


def score(said: str, gold: str, judge: str, end: str) -> tuple[Table, Table, dict[str, Any]]:
    """The four accuracies, what met what, and the flat result."""
    try:
        rows = (
            space.parsed_rows(said, "predictions"),
            space.parsed_rows(gold, "references"),
        )
        result = sgeval.svg2_temporal_accuracy(
            *rows,
            judge=judge,
            prediction_span_end=end,  # type: ignore[arg-type]
            return_items=True,
        )
    except SgevalError as fault:
        raise gr.Error(str(fault), duration=None) from None
    table = [[kind, *(percent(result[f"{kind}_accuracy{ending}"]) for ending in ("", "_strict"))] for kind in KINDS]
    matches = [
        [
            match["video_id"],
            match["kind"],
            match["annotated"],
            match["predicted"],
            match["category"] or f"unjudged: {match['reason']}",
            percent(match["tiou"]),
        ]
        for match in result["matches"]
    ]
    flat = {key: value for key, value in result.items() if not isinstance(value, (list, dict))}
    return table, matches, flat


def _code(rows: list[dict[str, Any]], label: str) -> Any:
    return gr.Code(space.listed(rows), language="json", label=label, lines=12, max_lines=20, wrap_lines=True)


def build() -> Any:
    """The page."""
    with gr.Blocks(title="SVG2 temporal accuracy") as page:
        gr.Markdown(
            "# SVG2 temporal accuracy\nOf the annotated objects, attributes, relations and triplets of videos, how many were "
            "found, by meaning and by time? Percent, higher is better. The number depends on the judge."
        )
        with gr.Row():
            gold_box = _code(GOLD, "Annotated videos, a JSON list or one a line")
            said_box = _code(SAID, "Predicted videos")
        with gr.Row():
            judge_box = gr.Radio(list(OFFLINE), value=OFFLINE[0], label="Judge")
            end_box = gr.Radio(["exclusive", "inclusive"], value="exclusive", label="End of a predicted span")
            button = gr.Button("Score", variant="primary")
        table_box = gr.Dataframe(headers=["percent", "lenient", "strict"], label="Accuracies")
        matches_box = gr.Dataframe(
            headers=["video", "kind", "annotated", "predicted", "verdict", "tIoU"], label="What met", wrap=True
        )
        with gr.Accordion("All keys", open=False):
            result_box = gr.JSON(label="Result")
        inputs, outputs = [said_box, gold_box, judge_box, end_box], [table_box, matches_box, result_box]
        button.click(score, inputs, outputs)
        page.load(score, inputs, outputs)
        with gr.Accordion("Card", open=False):
            gr.Markdown(space.card(__file__))
    return page


if __name__ == "__main__":
    build().launch()
