"""Made files in the form of Visual Genome to Parquet: time and memory of our roads, and of `json.load` with `datasets`.

python benchmarks/perf/visual_genome.py --megabytes 200
python benchmarks/perf/visual_genome.py --megabytes 200 --like FOLDER   # records of published files, over and over
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

FILES = ("relationships", "objects", "image_data")
FASTER, MEMORY = 4.0, 2.5
"""The goals: CPU seconds of json.load with the ArrowWriter over ours; peak memory over the size of the files."""

NOUNS = "man woman tree window shirt wall person building sign table chair sky car head hand leg plate fence grass dog"
PREDICATES = "on|has|in|of|wearing|near|with|above|holding|behind|under|sitting on|in front of|ON|wears|on side of a"


def make(folder: Path, megabytes: float, like: Path | None = None) -> None:
    """Write files of so many megabytes together: those of made pictures, or of the pictures in the files of `like`.

    A made picture has 20 objects and 22 relations. One end in seven has another box than its object; in the first three
    published pictures it is one in eight, and one in five says something else or more.
    """
    draw, number, written = random.Random(0), 0, 0
    known = [_loaded(like / f"{name}.json") for name in FILES] if like else []
    files = {name: (folder / f"{name}.json").open("w") for name in FILES}
    while written < megabytes * 1e6:
        number += 1
        again = ({**entries[number % len(entries)], "image_id": number} for entries in known)
        for name, record in zip(FILES, again if like else _picture(number, draw)):
            written += files[name].write(("[" if number == 1 else ", ") + json.dumps(record))
    for file in files.values():
        file.write("]")
        file.close()


def _picture(number: int, draw: random.Random) -> Iterator[dict[str, Any]]:
    nouns, predicates = NOUNS.split(), PREDICATES.split("|")
    url = f"https://cs.stanford.edu/people/rak248/VG_100K_2/{number}.jpg"
    objects: list[dict[str, Any]] = []
    for position in range(20):
        noun = draw.choice(nouns)
        sides = {side: draw.randrange(1, 500) for side in "hwyx"}
        item = {"synsets": [f"{noun}.n.01"], "object_id": 1000 * number + position, "names": [noun]}
        objects.append({**item, "merged_object_ids": [], **sides})
    rows = []
    for position in range(22):
        ends: list[dict[str, Any]] = []
        for mention in draw.sample(objects, 2):
            end = {"name": mention["names"][0], **{key: mention[key] for key in ("synsets", "object_id", *"hwyx")}}
            ends.append(end if draw.randrange(7) else {**end, "x": draw.randrange(500)})
        word = draw.choice(predicates)
        row = {"predicate": word, "object": ends[1], "relationship_id": 1000 * number + position}
        rows.append({**row, "synsets": [f"{word.split()[0]}.r.01"], "subject": ends[0]})
    yield {"relationships": rows, "image_id": number}
    yield {"image_id": number, "objects": objects, "image_url": url}
    yield {"width": 800, "url": url, "height": 600, "image_id": number, "coco_id": None, "flickr_id": number}


def writer(folder: Path, out: Path) -> None:
    """What one writes without us: `json.load`, then an example at a time into the ArrowWriter of `datasets`.

    It does less than we do: ends are taken by their id alone, nothing is checked and nothing put into `extra` but the url,
    and an Arrow file is written, not packed Parquet.
    """
    _plain(folder, out, encode=False)


def builder(folder: Path, out: Path) -> None:
    """The same with `encode_example`, as a builder of `datasets` and `Dataset.from_generator` do."""
    _plain(folder, out, encode=True)


def _plain(folder: Path, out: Path, encode: bool) -> None:
    from datasets import Features
    from datasets.arrow_writer import ArrowWriter

    from sgeval.columns import IMAGE

    relationships, objects, image_data = (_loaded(folder / f"{name}.json") for name in FILES)
    features = Features.from_arrow_schema(IMAGE)
    arrow = ArrowWriter(path=str(out), features=features)
    for rows, items, entry in zip(relationships, objects, image_data):
        example = _example(rows["relationships"], items["objects"], entry)
        arrow.write(features.encode_example(example) if encode else example)
    arrow.finalize()
    arrow.close()


def _example(rows: list[dict[str, Any]], items: list[dict[str, Any]], entry: dict[str, Any]) -> dict[str, Any]:
    nothing = dict.fromkeys(("is_thing", "iscrowd", "attribute_types", "level", "area", "segment_id", "segmentation"))
    return {
        **dict.fromkeys(("image", "video_id", "frame_index", "panoptic_map")),
        "image_id": str(entry["image_id"]),
        "file_name": "/".join(entry["url"].split("/")[-2:]),
        "width": entry["width"],
        "height": entry["height"],
        "source": "visual_genome",
        "objects": [
            {
                **nothing,
                "id": item["object_id"],
                "category": item["names"][0],
                "category_id": -1,
                "names": item["names"],
                "synsets": item["synsets"],
                "merged_ids": item.get("merged_object_ids", []),
                "attributes": [],
                "roles": [],
                "bbox": [item["x"], item["y"], item["w"], item["h"]],
            }
            for item in items
        ],
        "relations": [
            {
                "id": row["relationship_id"],
                "subject_id": row["subject"]["object_id"],
                "object_id": row["object"]["object_id"],
                "predicate": row["predicate"],
                "predicate_id": -1,
                "type": None,
                "synsets": row["synsets"],
                "score": None,
                "roles": [],
            }
            for row in rows
        ],
        "extra": json.dumps({"url": entry["url"]}),
    }


def columns(folder: Path, out: Path) -> None:
    """Ours to Parquet by columns, written as an export is."""
    import pyarrow.parquet as pq

    from sgeval.columns import IMAGE
    from sgeval.readers.parquet import text_columns
    from sgeval.readers.visual_genome_columns import read_columns

    with pq.ParquetWriter(out, IMAGE, compression="zstd", use_dictionary=text_columns(IMAGE)) as parquet:
        for batch in read_columns(folder):
            parquet.write_batch(batch)


def records(folder: Path, out: Path) -> None:
    """Our records, one by one, written nowhere."""
    from sgeval.readers.visual_genome import read_visual_genome

    for _ in read_visual_genome(folder):
        pass


def json_load(folder: Path, out: Path) -> None:
    """`json.load` alone, a file after the other."""
    for name in FILES:
        _loaded(folder / f"{name}.json")


def _loaded(path: Path) -> Any:
    with path.open() as file:
        return json.load(file)


ROADS: dict[str, Callable[[Path, Path], None]] = {
    "writer": writer,
    "builder": builder,
    "columns": columns,
    "records": records,
    "json_load": json_load,
}


def measured(road: str, folder: Path) -> dict[str, float]:
    """CPU seconds and peak megabytes of a road, in a process of its own; the imports count."""
    command = [sys.executable, __file__, "--road", road, "--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def _run(road: str, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as out:
        start = time.process_time()
        ROADS[road](folder, Path(out) / "out")
        seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": seconds, "megabytes": peak / 1e6}))


def summary(folder: Path, rounds: int) -> dict[str, Any]:
    """All roads in turn, so many times; medians, and ratios taken within a round."""
    runs = [{road: measured(road, folder) for road in ROADS} for _ in range(rounds)]
    size = sum((folder / f"{name}.json").stat().st_size for name in FILES) / 1e6
    faster = {
        road: [run[road]["seconds"] / run["columns"]["seconds"] for run in runs] for road in ("writer", "builder")
    }
    memory = max(run["columns"]["megabytes"] for run in runs) / size
    return {
        "megabytes": size,
        "seconds": {road: median(run[road]["seconds"] for run in runs) for road in ROADS},
        "peak_megabytes": {road: max(run[road]["megabytes"] for run in runs) for road in ROADS},
        "faster": median(faster["writer"]),
        "faster_range": [min(faster["writer"]), max(faster["writer"])],
        "faster_than_builder": median(faster["builder"]),
        "records_faster_than_json_load": median(
            run["json_load"]["seconds"] / run["records"]["seconds"] for run in runs
        ),
        "memory_of_size": memory,
        "goals": {"faster": _goal(median(faster["writer"]) / FASTER), "memory_of_size": _goal(MEMORY / memory)},
    }


def _goal(ratio: float) -> str:
    return "met" if ratio >= 1 else f"missed by {1 - ratio:.0%}"


def main() -> None:
    """Make the files, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--megabytes", type=float, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--road", choices=ROADS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help="files that are there already, instead of made ones")
    parser.add_argument("--like", type=Path, help="folder of a few published records, to repeat instead of made ones")
    arguments = parser.parse_args()
    if arguments.road:
        _run(arguments.road, arguments.folder)
        return
    with tempfile.TemporaryDirectory() as made:
        folder = arguments.folder or Path(made)
        if arguments.folder is None:
            make(folder, arguments.megabytes, arguments.like)
        print(json.dumps(summary(folder, arguments.rounds), indent=1))


if __name__ == "__main__":
    main()
