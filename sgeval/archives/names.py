"""Which names of an archive may become names on a disk: those that stay below the folder, on any system."""

import re
import unicodedata

from sgeval.errors import SgevalError, shown

MAX_NAME_BYTES = 1024
MAX_PART_BYTES = 255
MAX_FOLDERS = 32
OWN = ".sgeval-"
"""How the names begin that unpacking itself uses below a folder."""

RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\..*)?", re.IGNORECASE | re.DOTALL)


def parts_of(name: str, place: str) -> tuple[str, ...]:
    """The folders and the last part of a member's name; none for the top folder itself.

    Empty parts and "." go; all else that could lead elsewhere, or means something else on another system, is refused with
    an error that names the `place` and the member.

    >>> parts_of("./images//a.jpg", "x.tar")
    ('images', 'a.jpg')
    >>> parts_of("images/../../a.jpg", "x.tar")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: x.tar: member "images/../../a.jpg": expected a name below the folder, got one with ".."
    """
    fault = _fault(name)
    if fault:
        raise SgevalError(f"{place}: member {shown(name)}: {fault}")
    return tuple(part for part in name.split("/") if part not in ("", "."))


def _fault(name: str) -> str:
    """What is wrong with a name; empty if nothing is."""
    if not name.isprintable():  # unpaired surrogates stand for bytes that are no UTF-8
        return "expected a name of printable UTF-8 characters, got others"
    if name.startswith("/"):
        return "expected a name below the folder, got an absolute one"
    if "\\" in name or ":" in name:
        return 'expected a name below the folder, with "/" between its parts, got one with a backslash or a colon'
    parts = name.split("/")
    if ".." in parts:
        return 'expected a name below the folder, got one with ".."'
    if len(name.encode()) > MAX_NAME_BYTES or max(len(part.encode()) for part in parts) > MAX_PART_BYTES:
        return f"expected at most {MAX_NAME_BYTES:,} bytes, and {MAX_PART_BYTES} in a part, got a longer name"
    if len(parts) > MAX_FOLDERS:
        return f"expected at most {MAX_FOLDERS} parts, got {len(parts)}"
    for part in parts:
        if part not in ("", ".") and part[-1] in ". ":
            return "expected parts that end in no dot and no blank, got one"
        if RESERVED.fullmatch(part):
            return f"expected no name of a device of Windows, got {shown(part)}"
        if part.lower().startswith(OWN):
            return f"expected no name that begins with {OWN}, which unpacking uses itself, got {shown(part)}"
    return ""


class Names:
    """The names seen so far. Two that some file system takes for one are refused, and a file that is a folder too."""

    def __init__(self, place: str, most: int) -> None:
        self.place = place
        self.most = most
        self.seen: dict[str, tuple[str, bool]] = {}  # folded name: spelling, whether a folder
        self.folder: tuple[str, ...] = ()  # the last one, known to be sound

    def add(self, parts: tuple[str, ...], is_folder: bool) -> None:
        """Take note of a name and of the folders above it. Folders may come again, files may not. Raises `SgevalError`."""
        above = parts[:-1]
        if above != self.folder:
            for end in range(1, len(parts)):
                self._note("/".join(parts[:end]), True)
            self.folder = above
        self._note("/".join(parts), is_folder)

    def _note(self, name: str, is_folder: bool) -> None:
        count = len(self.seen)
        spelling, was_folder = self.seen.setdefault(_folded(name), (name, is_folder))
        if len(self.seen) > self.most:
            raise SgevalError(f"{self.place}: expected at most {self.most:,} files and folders, got more")
        if len(self.seen) > count or (is_folder and was_folder and spelling == name):
            return
        if spelling != name:
            got = f"{shown(spelling)} too, which is the same name where case does not count"
        else:
            got = "it twice" if is_folder == was_folder else "a file and a folder"
        raise SgevalError(f"{self.place}: member {shown(name)}: expected each name once, got {got}")


def _folded(name: str) -> str:
    """What a file system that knows no case, or composes letters, makes of a name."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
