"""The made videos and situations of the demo board, and what three systems say of them. Seeded; the same bytes every time.

`python -m benchmarks.leaderboard.made_data` writes `data/` and `submissions/`.
"""

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SEED = 20
N_VIDEOS, N_FRAMES = 30, 60
OBJECTS = {
    "man": "person",
    "woman": "person",
    "dog": "puppy",
    "bicycle": "bike",
    "car": "automobile",
    "cup": "mug",
    "sofa": "couch",
    "ball": "ball",
    "child": "kid",
    "cat": "kitten",
}
"""Label, and one that means the same or less."""
PREDICATES = {
    "holding": "gripping",
    "chasing": "pursuing",
    "next to": "beside",
    "riding": "riding",
    "looking at": "watching",
    "behind": "behind",
}
ROLES = {
    "tool": ("knife", "pen", "brush", "spoon"),
    "place": ("table", "floor", "shelf", "street"),
    "manner": ("slowly", "quickly", "carefully"),
}
VERBS = ("cutting", "writing", "painting", "carrying")

Row = dict[str, Any]
Speaker = Callable[[random.Random, Row], Row]


def videos() -> list[Row]:
    """Annotated videos of 20 seconds: three to five objects, four relations with a span each."""
    rng = random.Random(SEED)
    rows = []
    for number in range(N_VIDEOS):
        objects = [{"id": at, "category": rng.choice(list(OBJECTS))} for at in range(rng.randint(3, 5))]
        pairs = rng.sample([(a["id"], b["id"]) for a in objects for b in objects if a is not b], 4)
        relations = []
        for subject, obj in pairs:
            start = rng.randint(0, 12)
            span = {"start": start, "end": start + rng.randint(3, 8)}
            relations.append(
                {"subject_id": subject, "object_id": obj, "predicate": rng.choice(list(PREDICATES)), "spans": [span]}
            )
        rows.append({"video_id": f"made-{number:02}", "duration": 20, "objects": objects, "relations": relations})
    return rows


def situations() -> list[Row]:
    """Annotated frames: an object with its roles, or the verb of a person and an object with its roles."""
    rng = random.Random(SEED + 1)
    rows = []
    for number in range(N_FRAMES):
        roles = [{"role": role, "value": rng.choice(values)} for role, values in ROLES.items()]
        head: Row = {"frame_id": f"f{number // 2:02}", "kind": "object", "object_id": 1}
        if number % 2:
            head |= {"kind": "verb", "subject_id": 0, "verb": rng.choice(VERBS)}
        rows.append(head | {"roles": roles})
    return rows


def seen(rng: random.Random, row: Row, *, right: float, shift: float, cut: float = 0.0) -> Row:
    """What a system says of a video: labels right (or worded otherwise) with a probability, ends of spans moved by seconds,
    and a share of each span cut off."""

    def label(word: str, table: Mapping[str, str]) -> str:
        if rng.random() < right:
            return rng.choice([word, table[word]])
        return rng.choice(list(table))

    relations = []
    for relation in row["relations"]:
        span = relation["spans"][0]
        start, end = (span[side] + rng.uniform(-shift, shift) for side in ("start", "end"))
        end -= cut * (end - start)
        kept = {"start": round(max(start, 0.0), 2), "end": round(min(max(end, start + 0.5), 20.0), 2)}
        relations.append({**relation, "predicate": label(relation["predicate"], PREDICATES), "spans": [kept]})
    objects = [{**item, "category": label(item["category"], OBJECTS)} for item in row["objects"]]
    return {**row, "objects": objects, "relations": relations}


def said(rng: random.Random, row: Row, *, right: float) -> Row:
    """What a system says of a frame: verb and values right with a probability."""
    roles = [
        {**role, "value": role["value"] if rng.random() < right else rng.choice(ROLES[role["role"]])}
        for role in row["roles"]
    ]
    more = {"verb": row["verb"] if rng.random() < right else rng.choice(VERBS)} if "verb" in row else {}
    return {**row, **more, "roles": roles}


SYSTEMS: dict[str, dict[str, Speaker]] = {
    "videos": {
        "careful": lambda rng, row: seen(rng, row, right=0.9, shift=0.6),
        "hasty": lambda rng, row: seen(rng, row, right=0.9, shift=0.6, cut=0.45),
        "vague": lambda rng, row: seen(rng, row, right=0.4, shift=1.0),
    },
    "situations": {
        "attentive": lambda rng, row: said(rng, row, right=0.85),
        "average": lambda rng, row: said(rng, row, right=0.6),
        "guesser": lambda rng, row: said(rng, row, right=0.1),
    },
}


def main() -> None:
    """Write the references and the submissions."""
    for task, rows in (("videos", videos()), ("situations", situations())):
        _write(HERE / "data" / f"{task}.jsonl", rows)
        for number, (system, speak) in enumerate(SYSTEMS[task].items()):
            rng = random.Random(SEED * 10 + number)
            _write(HERE / "submissions" / task / f"{system}.jsonl", [speak(rng, row) for row in rows])


def _write(path: Path, rows: list[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
