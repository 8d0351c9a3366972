"""Predicates as videos have them, by hand: acts with the sense and the group each stands for, and words of place."""

ACTS: dict[str, dict[str, str]] = {
    "attend": {
        "looking at": "look.v.01",
        "staring at": "stare.v.01",
        "glancing at": "glance.v.01",
        "listening to": "listen.v.01",
        "watching": "watch.v.01",
        "sniffing": "sniff.v.01",
    },
    "speak": {
        "talking to": "talk.v.01",
        "speaking to": "speak.v.01",
        "shouting at": "shout.v.01",
        "whispering to": "whisper.v.01",
        "barking at": "bark.v.01",
    },
    "signal": {
        "pointing to": "point.v.01",
        "waving at": "wave.v.01",
        "nodding to": "nod.v.01",
        "winking at": "wink.v.01",
    },
    "rest": {
        "sitting on": "sit.v.01",
        "standing on": "stand.v.01",
        "lying on": "lie.v.02",
        "leaning on": "lean_on.v.01",
        "hanging from": "hang.v.01",
        "kneeling on": "kneel.v.01",
    },
    "move": {
        "walking on": "walk.v.01",
        "walking with": "walk.v.01",
        "running on": "run.v.01",
        "jumping over": "jump.v.01",
        "climbing on": "climb.v.01",
        "swimming in": "swim.v.01",
        "flying over": "fly.v.01",
        "riding on": "ride.v.01",
        "sailing on": "sail.v.01",
        "chasing": "chase.v.01",
        "entering": "enter.v.01",
    },
    "fondle": {"kissing": "kiss.v.01", "hugging": "hug.v.01", "caressing": "caress.v.01"},
    "handle": {
        "holding": "hold.v.02",
        "carrying": "carry.v.01",
        "pushing": "push.v.01",
        "pulling": "pull.v.01",
        "throwing": "throw.v.01",
        "closing": "close.v.01",
        "unlocking": "unlock.v.01",
        "squeezing": "squeeze.v.01",
        "wearing": "wear.v.01",
    },
    "consume": {"eating": "eat.v.01", "drinking from": "drink.v.01", "biting": "bite.v.01"},
    "tend": {"feeding": "feed.v.02", "cleaning": "clean.v.01", "watering": "water.v.01", "brushing": "brush.v.03"},
    "strike": {"kicking": "kick.v.03", "hitting": "hit.v.03", "cutting": "cut.v.01", "hammering": "hammer.v.01"},
}
"""Acts by group, each with its sense. Two of different groups are a mismatch where WordNet relates the senses in no way.
Touching is left out, since much is done by touch, and so are words that any group might claim (playing, taking)."""
AIMED = tuple(act for group in ("attend", "speak", "signal") for act in ACTS[group] if act.endswith((" at", " to")))
"""Acts that are about someone, wherever that is: beside a word of place alone they are a mismatch."""
BARE = (
    *("on", "on top of", "in", "inside", "beside", "next to", "near", "behind", "under", "above", "in front of"),
    *("below", "beneath", "over", "outside", "between", "against"),
)
PLACED = tuple(
    (act, act.rpartition(" ")[2])
    for group in ("rest", "move")
    for act in ACTS[group]
    if act.endswith((" on", " over", " in"))
)
"""Acts that bring one to a place, with that place: it is their hypernym."""
SAME_PLACE = (
    *(("beside", "next to"), ("above", "over"), ("under", "below"), ("under", "beneath"), ("in", "inside")),
    *(("on", "on top of"), ("behind", "in back of"), ("near", "close to"), ("in front of", "ahead of")),
    *(("toward", "towards"), ("between", "in between"), ("outside", "outside of"), ("next to", "adjacent to")),
)
"""Words for one place."""
