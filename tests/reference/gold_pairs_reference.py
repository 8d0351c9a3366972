"""RelCLIPScore over annotated pairs (`pairs="gold"`), pair after pair, as slowly and plainly as it can be written.

It walks the other way round than the package: over the annotated pairs, and for each over all that was predicted. Geometry,
matching and words are those of the other slow reference.
"""

from .relclip_reference import (
    area,
    average,
    clip,
    crop_rectangle,
    fitted,
    group,
    matched_pairs,
    penalise,
    places,
    sentence,
    spelling,
)


def gold_score(predictions, pictures, encoder, references, penalty="guarded", matching="given"):
    """The flat result, without signature and without what compares predicates. `pictures` maps image ids to pictures."""
    said = {graph["image_id"]: graph for graph in predictions}
    count = dict.fromkeys(COUNTS, 0)
    image_means, penalised_means, pair_scores, p_total = [], [], [], 0
    for gold in references:
        count["n_images"] += 1
        boxed = [item["id"] for item in gold["objects"] if item.get("bbox")]
        m = len(boxed)
        p = m * (m - 1) // 2
        p_total += p
        pairs = []
        for relation in gold["relations"]:
            ends = sorted((relation["subject_id"], relation["object_id"]))
            if ends[0] != ends[1] and ends[0] in boxed and ends[1] in boxed and ends not in pairs:
                pairs.append(ends)
        graph = said.get(gold["image_id"])
        count["n_missing"] += graph is None
        told = answers(graph, gold, pairs, pictures[gold["image_id"]], encoder, matching, count) if graph else {}
        if not pairs:
            count["n_no_gold_pair"] += 1
            count["n_undefined"] += 1
            continue
        own = []
        for low, high in pairs:
            scores = told.get((low, high), [])
            own.append(sum(scores) / len(scores) if scores else 0.0)
            count["n_unanswered_pairs"] += not scores
        count["n_empty"] += not told
        count["n_gold_pairs"] += len(pairs)
        pair_scores += own
        mean = sum(own) / len(own)
        image_means.append(mean)
        value, guarded = penalise(mean, p, len(pairs), penalty)
        count["n_guarded"] += guarded
        if value is None:
            count["n_undefined"] += 1
        else:
            penalised_means.append(value)
            count["n_scored_images"] += 1
    answered = count["n_gold_pairs"] - count["n_unanswered_pairs"]
    return {
        "relclipscore": average(penalised_means),
        "mean_score": average(image_means),
        "mean_score_relations": average(pair_scores),
        "pair_coverage": answered / p_total if p_total else None,
        "gold_pair_coverage": answered / count["n_gold_pairs"] if count["n_gold_pairs"] else None,
        **count,
    }


COUNTS = (
    *("n_images", "n_scored_images", "n_relations", "n_predicted", "n_empty", "n_undefined", "n_guarded"),
    *("n_duplicates", "n_self", "n_unmatched", "n_invalid", "n_missing"),
    *("n_gold_pairs", "n_unanswered_pairs", "n_no_gold_pair", "n_other_pairs"),
)


def answers(graph, gold, pairs, picture, encoder, matching, count):
    """The scores of what was predicted on the annotated pairs, by pair; what was not scored is counted."""
    width, height = picture.size
    labels, boxes = places(graph, gold, matching)
    to_gold = matched_pairs(graph, gold, matching)
    found, seen = {}, []
    for relation in sorted(graph["relations"], key=lambda one: spelling(one, labels)):
        count["n_predicted"] += 1
        a, b = relation["subject_id"], relation["object_id"]
        if a == b:
            count["n_self"] += 1
        elif any(end not in boxes or area(clip(boxes[end], width, height)) <= 0 for end in (a, b)):
            count["n_invalid"] += 1
        elif to_gold is not None and (a, b) not in to_gold:
            count["n_unmatched"] += 1
        else:
            pair = (a, b) if to_gold is None else to_gold[a, b]
            if sorted(pair) not in pairs:
                count["n_other_pairs"] += 1
            elif (pair, group(relation["predicate"])) in seen:
                count["n_duplicates"] += 1
            else:
                seen.append((pair, group(relation["predicate"])))
                rect = crop_rectangle(
                    clip(boxes[a], width, height), clip(boxes[b], width, height), width, height, "none"
                )
                region = encoder.encode_images([fitted(picture.crop(rect), encoder, "model")])
                text = encoder.encode_texts([sentence(labels[a], relation["predicate"], labels[b])])
                score = max(float(encoder.score(region, text)[0]), 0.0)
                found.setdefault(tuple(sorted(pair)), []).append(score)
                count["n_relations"] += 1
    return found
