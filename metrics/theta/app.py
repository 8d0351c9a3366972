"""The Space of θ: paste lists of scores, or an annotated scene graph with its picture, and read how the truth ranks."""

from typing import Any

import gradio as gr

import sgeval
from sgeval import strict_json
from sgeval.encoders.aliases import ALIASES
from sgeval.errors import SgevalError
from sgeval.hub import space

MODELS = tuple(ALIASES)
LISTS = '[\n  {"scores": [0.20, 0.10, 0.05, 0.90], "truth": 0},\n  {"scores": [0.31, 0.22, 0.18], "truth": 0}\n]'


def example() -> tuple[str, Any, str]:
    """A shipped scene: its graph, its picture, and the vocabulary of all shipped scenes."""
    from sgeval.demo import SCENES
    from sgeval.validation import parse_graphs
    from sgeval.vocabulary import vocabulary_of_graphs

    rows = list(strict_json.read_rows(SCENES / "references.jsonl"))
    vocabulary = vocabulary_of_graphs(parse_graphs(rows, "references").scenes)
    return space.spread(rows[0]), str(SCENES / "images" / f"{rows[0]['image_id']}.jpg"), vocabulary.text()


def score_lists(text: str) -> dict[str, Any]:
    """The flat result of lists of scores."""
    try:
        rows = space.parsed(text, "lists")
        if not isinstance(rows, list) or not all(
            isinstance(row, dict) and {*row} == {"scores", "truth"} for row in rows
        ):
            raise SgevalError('lists: expected [{"scores": [...], "truth": 0}, …]')
        return sgeval.theta([row["scores"] for row in rows], [row["truth"] for row in rows])
    except SgevalError as fault:
        raise gr.Error(str(fault), duration=None) from None


def score_graph(text: str, picture: Any, vocabulary: str, model: str) -> tuple[dict[str, Any], list[list[Any]]]:
    """The flat result of an annotated graph, and one row a relation."""
    try:
        if picture is None:
            raise SgevalError("picture: expected one, got none")
        graph = space.parsed(text, "scene graph")
        rows = space.parsed_rows(vocabulary, "vocabulary")
        key = str(graph.get("image_id")) if isinstance(graph, dict) else ""
        result = sgeval.theta(
            references=[graph],
            config="graphs",
            images={key: picture},
            model=model,
            vocabulary=rows or None,
            return_items=True,
        )
    except SgevalError as fault:
        raise gr.Error(str(fault), duration=None) from None
    items = result.pop("items")
    flat = {name: value for name, value in result.items() if not isinstance(value, list)}
    return flat, [_row(item) for item in items]


def _row(item: dict[str, Any]) -> list[Any]:
    """A relation: its text, its rank from 1, what was preferred, its score and that of its swap, or why it has none."""
    if item["status"] != "scored":
        return [f"{item['subject']} {item['predicate']} {item['object']}", item["status"], item["reason"] or "", "", ""]
    rank = f"{1 + item['higher'] + item['tied'] / 2:g} of {item['n']}"
    swap = "" if item["swap_score"] is None else round(item["swap_score"], 4)
    return [item["text"], rank, ", ".join(item["confusers"]) or "–", round(item["score"], 4), swap]


def build() -> Any:
    """The page."""
    graph, picture, vocabulary = example()
    with gr.Blocks(title="θ") as page:
        gr.Markdown(
            "# θ\nDoes a scoring model prefer the annotated predicate to the others of its pair of classes? "
            "θ = 1 − rank/|L|; read it beside its chance level, `chance_theta`."
        )
        with gr.Tab("Graph and picture"):
            gr.Markdown(
                "The model `demo` knows only its own eight objects and eight predicates; choose a CLIP for photographs. "
                "Candidates are the predicates that the vocabulary lists for the pair of classes."
            )
            with gr.Row():
                with gr.Column():
                    graph_box = gr.Code(
                        value=graph, language="json", label="Annotated graph", lines=10, max_lines=20, wrap_lines=True
                    )
                    picture_box = gr.Image(value=picture, type="pil", label="Picture", height=240)
                    words_box = gr.Code(
                        value=vocabulary, label="Vocabulary, one JSON object a line", lines=6, max_lines=12
                    )
                with gr.Column():
                    model_box = gr.Dropdown(MODELS, value="demo", label="Model")
                    button = gr.Button("Score", variant="primary")
                    result_box = gr.JSON(label="Result")
            items_box = gr.Dataframe(
                headers=["relation", "rank", "preferred", "score", "score of the swap"], label="Relations", wrap=True
            )
        with gr.Tab("Lists of scores"):
            lists_box = gr.Code(value=LISTS, language="json", label="Lists of candidate scores", lines=6)
            lists_button = gr.Button("Score", variant="primary")
            lists_result = gr.JSON(label="Result")
        inputs, outputs = [graph_box, picture_box, words_box, model_box], [result_box, items_box]
        button.click(score_graph, inputs, outputs)
        lists_button.click(score_lists, [lists_box], [lists_result])
        page.load(score_graph, inputs, outputs)
        page.load(score_lists, [lists_box], [lists_result])
        with gr.Accordion("Card", open=False):
            gr.Markdown(space.card(__file__))
    return page


if __name__ == "__main__":
    build().launch()
