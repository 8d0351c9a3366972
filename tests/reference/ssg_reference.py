"""Role values as slowly and plainly as they can be written, the way the published scorer works: lists of lists, one frame
after the other, a scan of all roles for each role name, and scikit-learn's scores.

`score` takes plain rows and matches them itself; `kind_scores` takes what is matched already, as lists, and is what the
speed benchmark compares with. Nothing is shared with the package.
"""

from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score

NOTHING = "\0nothing"  # stands for no answer; with whole numbers −1 does
KINDS = ("person", "object", "verb")


def share(part, whole):
    return 100.0 * part / whole if whole else None


def kind_scores(roles, predicted, gold, wrong=None, nothing=NOTHING):
    """The scores of frames with one value a role: lists of lists of role names, predicted and annotated values.

    `wrong` marks frames whose verb is wrong: none of their roles counts as right.
    """
    total = len(gold)
    wrong = wrong or [False] * total
    n_right = []
    for of_frame, annotated, is_wrong in zip(predicted, gold, wrong):
        right = 0
        for value, truth in zip(of_frame, annotated):
            if value == truth and not is_wrong:
                right += 1
        n_right.append(right)
    value = value_two = value_all = could = 0
    for right, annotated in zip(n_right, gold):
        if right >= 1:
            value += 1
        if right >= 2:
            value_two += 1
        if right == len(annotated):
            value_all += 1
        if len(annotated) >= 2:
            could += 1
    by_role = role_scores(roles, predicted, gold, wrong, nothing)
    return {
        "value": share(value, total),
        "value_two": share(value_two, total),
        "value_all": share(value_all, total),
        "value_two_eligible": share(value_two, could),
        "value_two_ceiling": share(could, total),
        **{
            f"role_{name}": sum(scores[name] for scores in by_role.values()) / len(by_role) if by_role else None
            for name in ("accuracy", "precision", "recall", "f1")
        },
    }


def role_scores(roles, predicted, gold, wrong, nothing=NOTHING):
    """By role name: its number, accuracy and macro scores. Every role name scans all roles anew."""
    names = [name for of_frame in roles for name in of_frame]
    flat_gold = [value for of_frame in gold for value in of_frame]
    flat_predicted = [value for of_frame in predicted for value in of_frame]
    flat_wrong = [is_wrong for of_frame, is_wrong in zip(gold, wrong) for _ in of_frame]
    found = {}
    for role in set(names):
        indices = [i for i, name in enumerate(names) if name == role]
        role_gold = [flat_gold[i] for i in indices]
        role_predicted = [flat_predicted[i] for i in indices]
        role_wrong = [flat_wrong[i] for i in indices]
        found[role] = single_scores(role_gold, role_predicted, role_wrong, nothing)
    return found


def single_scores(gold, predicted, wrong, nothing=NOTHING):
    """scikit-learn's scores of one list of classes.

    Where `wrong`, even an equal class is a miss of the one and a false alarm of the other: it is counted as two lines,
    the annotated class against nothing and nothing against the predicted one. "Nothing" is no class of the averages.
    """
    masked = [nothing if is_wrong else value for value, is_wrong in zip(predicted, wrong)]
    extra = [value for value, is_wrong in zip(predicted, wrong) if is_wrong]
    left, right = gold + [nothing] * len(extra), masked + extra
    classes = sorted((set(gold) | set(predicted)) - {nothing})
    how = {"labels": classes, "average": "macro", "zero_division": 0}
    return {
        "n": len(gold),
        "accuracy": accuracy_score(gold, masked) * 100.0,
        "precision": precision_score(left, right, **how) * 100.0,
        "recall": recall_score(left, right, **how) * 100.0,
        "f1": f1_score(left, right, **how) * 100.0,
        "n_classes": len(classes),
    }


def values_of(role):
    if role.get("values") is not None:
        return list(dict.fromkeys(role["values"]))
    return [] if role.get("value") is None else [role["value"]]


def key_of(row):
    values = [row.get(name) for name in ("frame_id", "kind", "subject_id", "object_id")]
    return tuple(None if value is None else str(value) for value in values)


def score(predictions, references, verb_setting="top1"):
    """All scores and counts of plain, sound rows; and the tables, under `by_role` and `by_verb`."""
    pairs, counts = matched(predictions, references)
    frames = [frame for frame in pairs if frame["roles"]]
    out = {}
    for prefix, kinds in (("", KINDS), *((f"{kind}_", (kind,)) for kind in KINDS)):
        chosen = [frame for frame in frames if frame["kind"] in kinds]
        counts[f"n_{prefix}frames"] = len(chosen)
        for name, value in {**frame_reading(chosen, verb_setting), **role_reading(chosen, verb_setting)}.items():
            out[prefix + name] = value
    verbs = [frame for frame in pairs if frame["kind"] == "verb"]
    counts["n_verbs"] = len(verbs)
    counts["n_wrong_verbs"] = sum(is_wrong(frame) for frame in verbs)
    counts["n_no_verb"] = sum(frame["predicted_verb"] is None for frame in verbs)
    no_verbs = not verbs or (verb_setting == "gold" and counts["n_no_verb"] == len(verbs))
    said = [NOTHING if frame["predicted_verb"] is None else frame["predicted_verb"] for frame in verbs]
    one = None if no_verbs else single_scores([frame["verb"] for frame in verbs], said, [False] * len(verbs))
    for name in ("accuracy", "precision", "recall", "f1"):
        out[f"verb_{name}"] = one[name] if one else None
    return {**out, **counts, "by_role": role_table(frames, verb_setting), "by_verb": verb_table(verbs, verb_setting)}


def is_wrong(frame):
    return frame["kind"] == "verb" and frame["verb"] != frame["predicted_verb"]


def matched(predictions, references):
    """Each frame with roles and each pair with a verb, with what was predicted first; what was left out, counted."""
    counts = dict.fromkeys(
        ("n_empty_frames", "n_extra_verb_frames", "n_extra_predicted", "n_missing_frames", "n_missing_roles"), 0
    )
    counts |= dict.fromkeys(("n_extra_roles", "n_several_values", "n_several_predicted", "n_roles"), 0)
    frames, seen = [], []
    for row in references:
        if key_of(row) in seen:
            counts["n_extra_verb_frames"] += 1
            continue
        if not row["roles"]:
            counts["n_empty_frames"] += 1
            if row["kind"] != "verb":
                continue
        seen.append(key_of(row))
        mine = [other for other in predictions if key_of(other) == key_of(row)]
        counts["n_missing_frames"] += not mine
        counts["n_extra_predicted"] += max(len(mine) - 1, 0)
        said = {role["role"]: values_of(role) for role in mine[0]["roles"]} if mine else {}
        roles = []
        for role in row["roles"]:
            gold, predicted = values_of(role), said.pop(role["role"], [])
            counts["n_roles"] += 1
            counts["n_missing_roles"] += not predicted
            counts["n_several_values"] += len(gold) > 1
            counts["n_several_predicted"] += len(predicted) > 1
            roles.append((role["role"], gold, predicted))
        counts["n_extra_roles"] += len(said) if roles else 0
        verb = mine[0].get("verb") if mine else None
        frames.append({"kind": row["kind"], "verb": row.get("verb"), "predicted_verb": verb, "roles": roles})
    counts["n_pictures"] = len({row["frame_id"] for row in references if row["roles"] or row["kind"] == "verb"})
    return frames, counts


def stand_ins(gold, predicted):
    """One value of either side: the first predicted one that both have, else the first of each."""
    for value in predicted:
        if value in gold:
            return value, value
    return gold[0], predicted[0] if predicted else NOTHING


def lists(frames, verb_setting):
    pairs = [[stand_ins(gold, predicted) for _, gold, predicted in frame["roles"]] for frame in frames]
    return (
        [[role for role, _, _ in frame["roles"]] for frame in frames],
        [[predicted for _, predicted in of_frame] for of_frame in pairs],
        [[gold for gold, _ in of_frame] for of_frame in pairs],
        [verb_setting == "top1" and is_wrong(frame) for frame in frames],
    )


def frame_reading(frames, verb_setting):
    return kind_scores(*lists(frames, verb_setting))


def role_reading(frames, verb_setting):
    """Role by role over sets of values."""
    n = one = two = whole = could = 0
    for frame in frames:
        for _, gold, predicted in frame["roles"]:
            hits = 0
            for value in gold:
                if value in predicted and not (verb_setting == "top1" and is_wrong(frame)):
                    hits += 1
            n += 1
            one += hits >= 1
            two += hits >= 2
            whole += hits == len(gold)
            could += len(gold) >= 2
    return {
        "per_role_value": share(one, n),
        "per_role_value_two": share(two, n),
        "per_role_value_all": share(whole, n),
        "per_role_accuracy": share(whole, n),
        "per_role_value_two_ceiling": share(could, n),
    }


def role_table(frames, verb_setting):
    table = {}
    for kind in KINDS:
        chosen = [frame for frame in frames if frame["kind"] == kind]
        for role, scores in role_scores(*lists(chosen, verb_setting)).items():
            table[kind, role] = scores
    return table


def verb_table(frames, verb_setting):
    """By verb: its own scores, and the frame reading of the frames that are annotated with it."""
    gold, said = [frame["verb"] for frame in frames], [frame["predicted_verb"] for frame in frames]
    table = {}
    for verb in (set(gold) | set(said)) - {None}:
        own = [frame for frame in frames if frame["verb"] == verb]
        both = sum(1 for one, other in zip(gold, said) if one == verb == other)
        n_predicted = said.count(verb)
        reading = frame_reading([frame for frame in own if frame["roles"]], verb_setting)
        table[verb] = {
            "n": len(own),
            "n_predicted": n_predicted,
            "accuracy": share(both, len(own)),
            "precision": share(both, n_predicted) or 0.0,
            "recall": share(both, len(own)) or 0.0,
            "f1": 200.0 * both / (len(own) + n_predicted),
            **{name: reading[name] for name in ("value", "value_two", "value_all")},
        }
    return table
