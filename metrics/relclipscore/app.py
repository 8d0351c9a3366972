"""The Space of RelCLIPScore: paste a scene graph and a picture, read the score."""

from typing import Any, get_args

import gradio as gr

import sgeval
from sgeval import strict_json
from sgeval.encoders.aliases import ALIASES
from sgeval.errors import SgevalError
from sgeval.hub import space
from sgeval.relscore import Penalty

MODELS = tuple(ALIASES)
PENALTIES = get_args(Penalty)


def example() -> tuple[str, Any]:
    """A scene that ships with the package: its good prediction and its picture."""
    from sgeval.demo import SCENES

    graph = next(iter(strict_json.read_rows(SCENES / "predictions_good.jsonl")))
    return space.spread(graph), str(SCENES / "images" / f"{graph['image_id']}.jpg")


def score(text: str, picture: Any, model: str, penalty: Penalty) -> tuple[dict[str, Any], list[list[Any]]]:
    """The flat result, and one row a relation."""
    try:
        if picture is None:
            raise SgevalError("picture: expected one, got none")
        graph = space.parsed(text, "scene graph")
        key = str(graph.get("image_id")) if isinstance(graph, dict) else ""
        result = sgeval.relclipscore([graph], images={key: picture}, model=model, penalty=penalty, return_items=True)
    except SgevalError as fault:
        raise gr.Error(str(fault), duration=None) from None
    items = result.pop("items")
    result.pop("images")
    rows = [[item["text"] or item["predicate"], item["score"], item["status"], item["reason"] or ""] for item in items]
    return result, rows


def build() -> Any:
    """The page."""
    text, picture = example()
    with gr.Blocks(title="RelCLIPScore") as page:
        gr.Markdown(
            "# RelCLIPScore\nDoes each union crop look like the relation that was predicted for it? "
            "Paste one scene graph (a line of a prediction file) and its picture. The model `demo` knows only its own "
            "eight objects and eight predicates; choose a CLIP for photographs."
        )
        with gr.Row():
            with gr.Column():
                graph_box = gr.Code(
                    value=text, language="json", label="Scene graph", lines=14, max_lines=24, wrap_lines=True
                )
                picture_box = gr.Image(value=picture, type="pil", label="Picture", height=260)
            with gr.Column():
                model_box = gr.Dropdown(MODELS, value="demo", label="Model")
                penalty_box = gr.Dropdown(PENALTIES, value="guarded", label="Penalty (eq. 3)")
                button = gr.Button("Score", variant="primary")
                result_box = gr.JSON(label="Result")
                items_box = gr.Dataframe(
                    headers=["relation", "score", "status", "reason"], label="Relations", wrap=True
                )
        inputs = [graph_box, picture_box, model_box, penalty_box]
        button.click(score, inputs, [result_box, items_box])
        page.load(score, inputs, [result_box, items_box])
        with gr.Accordion("Card", open=False):
            gr.Markdown(space.card(__file__))
    return page


if __name__ == "__main__":
    build().launch()
