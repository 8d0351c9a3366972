"""What the tests of role values share: rows by hand, and random rows with everything that can happen to them."""

import numpy as np

VALUES = [f"value {number}" for number in range(6)]
ROLES = [f"role {number}" for number in range(5)]
VERBS = ["hold", "wipe", "lean on"]


def frame(frame_id="f", roles=None, kind="object", verb=None, subject_id=None, object_id=1):
    """A row; of roles as a mapping, a list is several values."""
    listed = [
        {"role": role, "values": value} if isinstance(value, list) else {"role": role, "value": value}
        for role, value in (roles or {}).items()
    ]
    return {
        "frame_id": frame_id,
        "kind": kind,
        "subject_id": subject_id,
        "object_id": object_id,
        "verb": verb,
        "roles": listed,
    }


def contact(frame_id, verb, roles, object_id=1):
    return frame(frame_id, roles, "verb", verb, 0, object_id)


def random_rows(seed, n=40):
    """(predictions, references): frames of all kinds, empty, doubled (verbs) and missing ones, sets of values on both
    sides, missing and extra roles, and verbs that are wrong or not there. Predictions stand in another order."""
    rng = np.random.default_rng(seed)
    references, predictions = [], []
    for number in range(n):
        kind = ("person", "object", "verb")[rng.integers(3)]
        ids = {"person": (0, None), "object": (None, number), "verb": (0, number)}[kind]
        frame_id = f"f{rng.integers(n // 4 + 1)}"
        if kind == "person":
            frame_id = f"p{number}"
        again = 1 + (kind == "verb") * int(rng.integers(3) == 0)
        for _ in range(again):
            names = rng.permutation(ROLES)[: rng.integers(0, 5)].tolist()
            gold = {role: _values(rng) for role in names}
            verb = str(rng.choice(VERBS)) if kind == "verb" else None
            references.append(frame(frame_id, gold, kind, verb, *ids))
            if rng.random() < 0.85:
                said = {role: value if rng.random() < 0.5 else _values(rng) for role, value in gold.items()}
                said = {role: value for role, value in said.items() if rng.random() < 0.9}
                if rng.random() < 0.2:
                    said["another role"] = "anything"
                own = (
                    None
                    if kind != "verb" or rng.random() < 0.1
                    else verb
                    if rng.random() < 0.6
                    else str(rng.choice(VERBS))
                )
                predictions.append(frame(frame_id, said, kind, own, *ids))
    order = rng.permutation(len(predictions)) if n % 2 else np.arange(len(predictions))
    firsts = {}
    for index in order:  # rows of one pair keep their order: the first counts
        key = str([predictions[index][name] for name in ("frame_id", "kind", "subject_id", "object_id")])
        firsts.setdefault(key, []).append(index)
    placed = [predictions[index] for group in firsts.values() for index in sorted(group)]
    return placed, references


def _values(rng):
    n = int(rng.integers(1, 4)) if rng.random() < 0.3 else 1
    found = rng.permutation(VALUES)[:n].tolist()
    return found if n > 1 else found[0]


def single_valued(rows):
    """Random rows with one value a role, one verb frame a pair, and no role that the annotation lacks."""
    predictions, references = rows
    out = []
    for side in (predictions, references):
        first = {}
        for row in side:
            roles = [
                {"role": role["role"], "value": role["values"][0] if "values" in role else role["value"]}
                for role in row["roles"]
                if role["role"] in ROLES
            ]
            key = tuple(row[name] for name in ("frame_id", "kind", "subject_id", "object_id"))
            first.setdefault(key, {**row, "roles": roles})
        out.append(list(first.values()))
    gold = {tuple(row[name] for name in ("frame_id", "kind", "subject_id", "object_id")): row for row in out[1]}
    for key, row in (
        (tuple(row[name] for name in ("frame_id", "kind", "subject_id", "object_id")), row) for row in out[0]
    ):
        known = {role["role"] for role in gold[key]["roles"]}
        row["roles"] = [role for role in row["roles"] if role["role"] in known]
    return out[0], out[1]
