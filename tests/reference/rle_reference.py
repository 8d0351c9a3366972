"""COCO's run-length codes read one character after the other: slow and plain, as their description reads."""

LONGEST = 7


def runs_of(text, total):
    """The runs of a text over so many pixels, or what is wrong with it, in a word and a number."""
    runs = []
    number = shift = 0
    for character in text:
        group = ord(character) - 48
        if not 0 <= group < 64:
            return "characters", None
        number += (group % 32) * 2**shift
        shift += 5
        if group >= 32:
            if shift == 5 * LONGEST:
                return "longer", None
            continue
        if group % 32 >= 16:
            number -= 2**shift
        if len(runs) >= 3:
            number += runs[-2]
        if number < 0:
            return "negative", number
        runs.append(number)
        number = shift = 0
    if shift:
        return "unfinished", None
    if sum(runs) != total:
        return "sum", sum(runs)
    return "sound", runs
