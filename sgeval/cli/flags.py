"""The flags that scoring commands share: each with its help, once."""

import json
from collections.abc import Callable, Mapping
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import typer

Images = Annotated[
    Path | None,
    typer.Option(help="Folder of the pictures; of a data set its folder or export by default.", show_default=False),
]
Out = Annotated[Path, typer.Option(help="Run folder to write.", show_default=False)]
Split = Annotated[str | None, typer.Option(help="Split to score, of a data set; all by default.")]
Context = Annotated[str | None, typer.Option(help="none (default), ratio:0.2, px:20 or openvocsgg.")]
Fit = Annotated[str | None, typer.Option(help="model (default), pad or squash.")]
Template = Annotated[str | None, typer.Option(help='Text of a triplet, e.g. "{subject} {predicate} {object}".')]
Normalisation = Annotated[str | None, typer.Option(help="words (default) or none.")]
OnInvalid = Annotated[str | None, typer.Option(help="Faulty parts: error (default) or skip.")]
OnBadImage = Annotated[str | None, typer.Option(help="Unreadable pictures: error (default) or skip.")]
BatchSize = Annotated[int | None, typer.Option(help="Regions encoded at once; 32 by default.")]
Bootstrap = Annotated[int | None, typer.Option(help="Replicates for the intervals; 1000 by default, 0 for none.")]
Seed = Annotated[int | None, typer.Option(help="Seed of the intervals; 0 by default.")]
SystemName = Annotated[str | None, typer.Option(help="Name of the system in reports; the file's name by default.")]
Device = Annotated[str | None, typer.Option(help="auto (default), cpu, cuda, cuda:1 …")]
Precision = Annotated[
    str | None, typer.Option(help="fp32 (default), or bf16: faster on hardware for it, scores move a little.")
]
Preprocess = Annotated[str | None, typer.Option(help="pil (default), or tensor: faster crops, scores move a little.")]
Cache = Annotated[
    Path | None,
    typer.Option(
        help="Folder on a local disk that keeps embeddings, so that no run encodes them again; scores may move in their "
        "last digits."
    ),
]
Config = Annotated[Path | None, typer.Option(help="YAML file of these options; flags win over it.")]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on where a run into --out stopped; start when there is none.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the run in --out.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]

MODELS = (
    "demo, clip-l14 (default), clip-b32, negclip-b32, siglip-so400m, blip2-itm-g, open_clip:ARCH/TAG, "
    "transformers:ORG/REPO, a folder …"
)
FORMS = (
    "sgeval (default; also what `sgeval data export` wrote), rlipv2, coco-rel or psg; or the data set whose folder is given: "
    "psg, visual_genome, vg150, ssg, fgov, or NAME:CONFIG"
)
VIDEO_FORMS = (
    "sgeval (default; also what `sgeval data export` wrote) or answers; or the data set whose folder is given: pvsg, vidor, "
    "vipseg, svg2_test, or NAME:CONFIG"
)


Judge = Annotated[
    str | None, typer.Option(help="wordnet (default), exact, embedding:MODEL, or provider/model of a language model.")
]
JudgeOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Option of a language model as KEY=VALUE: base_url, batch, concurrency, cache, prices …; repeatable."
    ),
]
MaxCost = Annotated[
    float | None,
    typer.Option(
        help="Dollars that a language model may cost in this session, whatever earlier ones have cost; it stops before. "
        "No limit by default."
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Ask nothing: say how many pairs of labels would be asked, and the cost.")
]
SaidVideos = Annotated[
    Path, typer.Option(help="Predicted video graphs, or answers of a model, one a line.", show_default=False)
]
GoldVideos = Annotated[
    Path,
    typer.Option(help="Annotated video graphs; with --references-format the folder of a data set.", show_default=False),
]
VideoForm = Annotated[str | None, typer.Option(help=f"Form of the predictions: {VIDEO_FORMS}.")]
GoldForm = Annotated[str | None, typer.Option(help="Form of the references; as --format.")]
Limit = Annotated[int | None, typer.Option(help="Score the first N references only.")]
Level = Annotated[
    list[str] | None,
    typer.Option(help="Level of objects that counts; repeatable; all by default.", show_default=False),
]
RestrictToGiven = Annotated[
    bool | None, typer.Option("--restrict-to-given", help="Leave out objects that the model was not given.")
]
MaxPerPair = Annotated[
    int | None,
    typer.Option(help="Predicted relations of a pair, and attributes of an object, that may be right; all by default."),
]
IgnoreDirection = Annotated[
    bool | None, typer.Option("--ignore-direction", help="Report the accuracy that ignores direction too.")
]
MergeSamePredicate = Annotated[
    bool | None, typer.Option("--merge-same-predicate", help="Predictions of a pair with equal predicates are one.")
]
MissingVideos = Annotated[str | None, typer.Option(help="References without a prediction: error (default) or zero.")]


def flags_of(command: Callable[..., None]) -> Callable[[Callable[[dict[str, Any]], None]], Callable[..., None]]:
    """Give a command all flags of another, with their help and defaults; it gets what was given as one mapping."""

    def decorate(own: Callable[[dict[str, Any]], None]) -> Callable[..., None]:
        def run(**given: Any) -> None:
            own(given)

        run.__name__, run.__doc__ = own.__name__, own.__doc__
        run.__signature__ = signature(command, eval_str=True)  # type: ignore[attr-defined]
        run.__annotations__ = {}  # those in the signature hold
        return run

    return decorate


def temporal(given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of SVG2 temporal accuracy by their own names, from flags that may be repeated."""
    return {
        "judge_options": {
            **key_values(given["judge_option"], "--judge-option"),
            **({} if given["max_cost"] is None else {"max_cost": given["max_cost"]}),
        }
        or None,
        "thresholds": given.get("threshold") or None,
        "levels": given["level"] or None,
    }


def key_values(given: list[str] | None, flag: str) -> dict[str, Any]:
    """The KEY=VALUE entries of a flag as keywords; a value that is JSON is taken as such.

    >>> key_values(["batch=20", "seed=null", "rule=exact"], "--option")
    {'batch': 20, 'seed': None, 'rule': 'exact'}
    """
    from sgeval.errors import SgevalError, shown

    options: dict[str, Any] = {}
    for entry in given or ():
        key, mark, value = entry.partition("=")
        if not mark or not key.isidentifier():
            raise SgevalError(f"{flag}: expected KEY=VALUE, got {shown(entry)}")
        try:
            options[key] = json.loads(value)
        except ValueError:
            options[key] = value
    return options
