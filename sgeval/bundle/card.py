"""The texts of a bundle: its card and its `eval.yaml`, made of specs, splits and what is known of the data sets."""

from collections.abc import Iterable, Sequence
from typing import Any

import yaml

from sgeval import __version__
from sgeval.bundle.contents import (
    CONFIGS,
    FRAMEWORK,
    METRICS,
    NOT_HERE,
    OWN_PARTS,
    SUMMARY,
    TAGS,
    TASK_CATEGORIES,
    TITLE,
)
from sgeval.bundle.specs import SPECS, Column, Table, Task
from sgeval.bundle.splits import Split
from sgeval.data.facts import CITATIONS
from sgeval.report.text import NOTHING

README = "README.md"
EVAL = "eval.yaml"
Head = dict[str, Any]


def front_matter(repo: str, splits: Sequence[Split]) -> Head:
    """What the YAML at the top of the card says."""
    configs: list[Head] = []
    for config in dict.fromkeys(split.config for split in splits):
        files = [{"split": split.split, "path": split.file} for split in splits if split.config == config]
        configs.append({"config_name": config, **({} if configs else {"default": True}), "data_files": files})
    return {
        "pretty_name": TITLE,
        "license": "other",
        "license_name": "each-part-its-own",
        "license_link": f"https://huggingface.co/datasets/{repo}#licences",
        "language": ["en"],
        "task_categories": list(TASK_CATEGORIES),
        "size_categories": ["n<1K"],
        "source_datasets": ["extended"],
        "tags": list(TAGS),
        "configs": configs,
    }


def eval_yaml(tasks: Iterable[Task]) -> str:
    """`eval.yaml`: one task a ranked number."""
    head = {
        "name": TITLE,
        "description": SUMMARY,
        "evaluation_framework": FRAMEWORK,
        "tasks": [{"id": task.id, "config": task.config, "split": task.split} for task in tasks],
    }
    return _yaml(head)


def card(repo: str, tasks: Sequence[Task], tables: Sequence[Table], splits: Sequence[Split]) -> str:
    """The card: front matter and body."""
    return f"---\n{_yaml(front_matter(repo, splits))}---\n\n{body(repo, tasks, tables, splits)}"


def body(repo: str, tasks: Sequence[Task], tables: Sequence[Table], splits: Sequence[Split]) -> str:
    """What a person reads."""
    demo = next((task for task in tasks if task.config == "demo"), None)
    parts = [
        f"# {TITLE}",
        SUMMARY,
        f"Made with sgeval {__version__}. `sgeval bundle check` finds what is wrong with a copy of this folder.",
        "## Ranked numbers",
        "One task of `eval.yaml` is one leaderboard and ranks one number. Its spec holds metric, key, data and every setting "
        "that is not a default.",
        grid(("task", "ranks", "metric", "key", "config", "split", "spec"), map(task_row, tasks)),
        "`sgeval` is not among the frameworks that the Hub lists for `eval.yaml`; a pull request to that list comes before "
        "boards show. Weights of models other than the demo's are not pinned, since they were not at hand: the signature of "
        "a result names theirs.",
        "## Metrics",
        "All are higher when better. Undefined is none and counted, never zero. *Macro* is a mean of means, *micro* a mean "
        "over everything at once; the two are different numbers and are never mixed.",
        grid(("module", "headline", "beside it", "direction", "range", "headline is"), metric_rows()),
        "## Configs and splits",
        "A split is named with its number of ids and the SHA-256 of its ids (sorted, each with a line feed). Numbers over "
        "other ids are not ranked together. Where the data was not at hand when this bundle was built there is no digest: "
        "`sgeval bundle build --data psg=PSG/` computes it from your copy.",
        grid(("config", "split", "data set", "published", "ids", "SHA-256 of the ids"), map(split_row, splits)),
        "`demo` has annotated scenes, with pictures in `data/demo/images`. The other configs have one row a split: number, "
        "digest, ids, licence, and the line that loads the records from the original files. Annotations are not copied here.",
        _block("python", _load_lines(repo, splits)),
        "## How to run",
        "Install sgeval, get the data (`sgeval data info NAME` says from where), and score. Replace folders in capitals by "
        "yours. θ ranks scoring models: name yours with `--model`.",
        _block("bash", "\n".join(f"# {task.id}\n{task.command()}" for task in tasks)),
        "Two systems are compared with `sgeval compare runs/mine runs/theirs`: intervals, a paired test, and no rank between "
        "runs of different protocols.",
        "## How to submit",
        "Results live in the repository of the model, in `.eval_results/`. sgeval writes the file from the run, refuses a "
        "run of another protocol or over other ids, and names the part that differs:",
        _block(
            "bash",
            f"sgeval bundle results runs/mine --bundle . --repo {repo} --out my-model/\n"
            "hf upload ME/MY-MODEL my-model/ . --create-pr",
        ),
        "It looks like this (a made-up number):",
        _block("yaml", _example(repo, demo or tasks[0])),
        "## Published numbers",
        "As printed, in percent unless a count. The specs hold them as data, with the settings of the runs that come close. "
        "The first command line stands here; `sgeval bundle commands NAME` prints all of a spec.",
        *(part for table in tables for part in table_parts(table)),
        "### Not here",
        _list(NOT_HERE),
        "## Licences",
        "Each part has its own. Nothing here changes the terms of the data sets.",
        grid(("part", "licence", "in this repository"), licence_rows(splits)),
        "## Citation",
        "Cite the data set you report on, and the paper whose metric it is.",
        *(_block("bibtex", CITATIONS[name]) for name in ("fgov", "ssg", "svg2_test")),
    ]
    return "\n\n".join(parts) + "\n"


def task_row(task: Task) -> tuple[str, ...]:
    """A row of the table of ranked numbers."""
    spec = f"{SPECS}/{task.id}.yaml"
    return (
        *map(_code, (task.id,)),
        task.ranks,
        *map(_code, (task.metric, task.key, task.config, task.split)),
        f"[{spec}]({spec})",
    )


def metric_rows() -> list[tuple[str, ...]]:
    """The rows of the table of metrics."""
    return [
        (_code(module), _code(words.keys[0]), ", ".join(map(_code, words.keys[1:])), "higher", words.range, words.rule)
        for module, words in METRICS.items()
    ]


def split_row(split: Split) -> tuple[str, ...]:
    """A row of the table of splits."""
    of = "demo scenes of sgeval" if CONFIGS[split.config].set is None else f"{split.data_set}, {split.reader}"
    published = NOTHING if split.published is None else f"{split.published:,}"
    number = NOTHING if split.number is None else f"{split.number:,}"
    known = "data not at hand" if split.ids_sha256 is None else _code(split.ids_sha256)
    return _code(split.config), _code(split.split), of, published, number, known


def licence_rows(splits: Sequence[Split]) -> list[tuple[str, ...]]:
    """The rows of the table of licences: of what sgeval brings, then of each data set."""
    rows: list[tuple[str, ...]] = [(part, words, "yes") for part, words in OWN_PARTS.items()]
    for config in dict.fromkeys(split.config for split in splits):
        found = CONFIGS[config].found
        if found is not None:
            may = found.licence.publish == "annotations"
            here = (
                "ids; annotations may be passed on (`sgeval data export`)" if may else "ids alone; nothing grants more"
            )
            rows.append((_code(config), f"{found.licence.words} {found.licence.allows}", here))
    return rows


def table_parts(table: Table) -> list[str]:
    """A published table: its numbers, what comes close, what is missing."""
    number = len(table.labels)
    head = (*table.labels, *(column.printed for column in table.columns))
    rows = [(*labels, *map(Column.text, table.columns, values)) for labels, values in table.rows]
    keys = {column.printed: column.key for column in table.columns if column.key}
    close = "; ".join(f"{printed}: {_code(str(key))}" for printed, key in keys.items())
    first = next(iter(table.commands()), None)
    return [
        f"### {table.source}: {table.title}",
        f"[{SPECS}/{table.id}.yaml]({SPECS}/{table.id}.yaml)"
        + (f". Closest keys of {_code(str(table.metric))}: {close}." if close else "."),
        grid(head, rows, right=number),
        *([_block("bash", first)] if first else []),
        *([f"Missing:\n\n{_list(table.missing)}"] if table.missing else []),
        *([f"Not reproduced by us, and why:\n\n{_list(table.cannot)}"] if table.cannot else []),
    ]


def grid(headings: Sequence[str], rows: Iterable[Sequence[str]], right: int | None = None) -> str:
    """A table in Markdown; columns from `right` on are of numbers."""
    rule = ["---:" if right is not None and at >= right else "---" for at in range(len(headings))]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (headings, rule, *rows)
    )


def _load_lines(repo: str, splits: Sequence[Split]) -> str:
    lines = dict.fromkeys(split.load for split in splits)
    return "\n".join(("import datasets", "import sgeval", "", f'REPO = "{repo}"', *lines))


def _example(repo: str, task: Task) -> str:
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    entry = EvalResultEntry(
        repo, task.id, 12.34, date="2026-11-30", notes="mine; demo/test-40-…; metric:relclipscore|model:demo|…"
    )
    return _yaml(eval_result_entries_to_yaml([entry])).rstrip()


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _block(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```"


def _code(text: str) -> str:
    return f"`{text}`"


def _yaml(value: Any) -> str:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=120)
