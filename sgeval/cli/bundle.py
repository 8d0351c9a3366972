"""The commands of `sgeval bundle`: the benchmarks as a repository of the Hub, and results in them."""

from pathlib import Path
from typing import Annotated

import typer

from sgeval.cli.ending import BAD_INPUT, ends_well, print_json, say
from sgeval.cli.flags import Json

bundle_app = typer.Typer(
    help="The benchmarks as a data set repository of the Hub: built, checked, pushed; and results in them.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

Bundle = Annotated[
    Path | None,
    typer.Argument(help="Folder of a bundle; the one that comes with sgeval by default.", show_default=False),
]


@bundle_app.command()
@ends_well
def build(
    out: Annotated[Path, typer.Option(help="Folder to write.", show_default=False)],
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="CONFIG=DIR, a data set's folder: its ids are read, counted and hashed; repeatable. psg, vg150, ssg, pvsg, "
            "vidor, vipseg, svg2_test."
        ),
    ] = None,
    repo: Annotated[
        str | None, typer.Option(help="ORG/NAME of the repository, as card and results name it.", show_default=False)
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier bundle in --out.")] = False,
    as_json: Json = False,
) -> None:
    """Write the bundle: card, eval.yaml, specs, ids, demo scenes. Same inputs, same bytes.

    A split whose data is not given has no digest of its ids, and results on it are refused.

    Examples: `sgeval bundle build --out bundle --repo me/scene-graphs` · `sgeval bundle build --out bundle --data psg=psg/
    --data pvsg=pvsg/`
    """
    from sgeval.bundle import build as write
    from sgeval.bundle.contents import REPOSITORY
    from sgeval.errors import SgevalError, shown

    folders: dict[str, str] = {}
    for entry in data or ():
        name, mark, folder = entry.partition("=")
        if not mark or not folder:
            raise SgevalError(f"--data: expected CONFIG=DIR, got {shown(entry)}")
        folders[name] = folder
    splits = write(out, data=folders, repo=repo or REPOSITORY, overwrite=overwrite)
    if as_json:
        keys = ("config", "split", "published", "number", "ids_sha256", "references_sha256")
        print_json([{key: getattr(split, key) for key in keys} for split in splits])
    else:
        for split in splits:
            known = (
                f"{split.number:,} ids, SHA-256 {split.ids_sha256}" if split.ids_sha256 else "no data given, no digest"
            )
            print(f"{split.config} {split.split}: {known}")
    say(f"The bundle is in {out}; `sgeval bundle check {out}` looks at it")


@bundle_app.command()
@ends_well
def check(folder: Bundle = None, as_json: Json = False) -> None:
    """List everything that is wrong with a bundle: card, tasks, specs, numbers, licences, links, files, ids.

    Exit code 2 when there is something. Nothing is downloaded.

    Examples: `sgeval bundle check` · `sgeval bundle check bundle/`
    """
    from sgeval.bundle import check as look
    from sgeval.bundle import shelf

    place = folder or shelf()
    faults = look(place)
    if as_json:
        print_json({"folder": str(place), "faults": faults})
    else:
        for fault in faults:
            print(fault)
        print(f"{place}: {len(faults) or 'no'} fault{'' if len(faults) == 1 else 's'}")
    if faults:
        raise typer.Exit(BAD_INPUT)


@bundle_app.command()
@ends_well
def push(
    folder: Annotated[Path, typer.Argument(help="Folder of a bundle.", show_default=False)],
    to: Annotated[str, typer.Option(help="ORG/NAME, as the bundle was built with.", show_default=False)],
    public: Annotated[bool, typer.Option("--public", help="Make the repository public; else private.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Send nothing: list the files.")] = False,
    as_json: Json = False,
) -> None:
    """Upload a bundle to the Hub as a data set repository, after `check` has passed.

    Examples: `sgeval bundle push bundle/ --to me/scene-graphs --dry-run` · `sgeval bundle push bundle/ --to me/scene-graphs
    --public`
    """
    from sgeval.bundle import push as upload

    done = upload(folder, to, private=not public, dry_run=dry_run)
    if as_json:
        print_json({"files": done.files, "address": done.address})
    else:
        for name, size in done.files.items():
            print(f"{size:>10,}  {name}")
    total = f"{len(done.files)} files, {sum(done.files.values()):,} bytes"
    say(f"{total}; nothing was sent (--dry-run)" if done.address is None else f"Uploaded {total} to {done.address}")


@bundle_app.command()
@ends_well
def results(
    runs: Annotated[list[Path], typer.Argument(help="Run folders of one model, one a task.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Folder of the model's repository.", show_default=False)],
    bundle: Annotated[
        Path | None, typer.Option(help="Folder of the bundle; the one that comes with sgeval by default.")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="Task of the run, where several are over its ids; else found by itself.")
    ] = None,
    repo: Annotated[
        str | None, typer.Option(help="ORG/NAME of the bundle on the Hub; as it was built by default.")
    ] = None,
    revision: Annotated[str | None, typer.Option(help="Commit of the bundle on the Hub.")] = None,
    date: Annotated[
        str | None, typer.Option(help="Day of the run, e.g. 2026-11-30; that of the commit by default.")
    ] = None,
    source_url: Annotated[str | None, typer.Option(help="https:// address of the run, for people to look at.")] = None,
    source_name: Annotated[str | None, typer.Option(help="What the address is called.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file of results.")] = False,
    as_json: Json = False,
) -> None:
    """Write `.eval_results/NAME.yaml` of a model from its runs: the numbers that `sgeval compare` and the report show.

    Refused: a run of another protocol than the task's (the part is named), over other ids, or without a score.

    Examples: `sgeval bundle results sgeval-demo/good --out my-model` · `sgeval bundle results runs/psg runs/pvsg --bundle
    bundle/ --date 2026-11-30 --out my-model`
    """
    from dataclasses import asdict

    from sgeval.bundle import shelf, write_results
    from sgeval.runs import read_run

    read = [read_run(folder) for folder in runs]
    path, entries = write_results(
        read,
        out,
        bundle or shelf(),
        task=task,
        repo=repo,
        overwrite=overwrite,
        revision=revision,
        date=date,
        source_url=source_url,
        source_name=source_name,
    )
    if as_json:
        print_json([asdict(entry) for entry in entries])
    else:
        for entry in entries:
            print(f"{entry.task_id}: {entry.value:.2f}")
    say(f"Wrote {path}")


@bundle_app.command()
@ends_well
def commands(
    spec: Annotated[
        str | None, typer.Argument(help="Spec, by its name; all are listed by default.", show_default=False)
    ] = None,
) -> None:
    """Print the command lines that make the numbers of a spec: a ranked number, or a published table.

    Examples: `sgeval bundle commands` · `sgeval bundle commands paper1_table3`
    """
    from sgeval.bundle import tables, tasks
    from sgeval.errors import one_of

    titles = {task.id: task.title for task in tasks()} | {table.id: table.title for table in tables()}
    lines = {task.id: [task.command()] for task in tasks()} | {table.id: list(table.commands()) for table in tables()}
    if spec is None:
        for name, title in titles.items():
            print(f"{name}: {title}")
        return
    one_of("spec", spec, lines)
    for line in lines[spec]:
        print(line)
    if not lines[spec]:
        say(f"{spec}: numbers of data, which no command scores")
