"""Archives of strangers, unpacked so that nothing is written outside a folder, and nothing half in it."""

from sgeval.archives.unpacking import Limits, Unpacked, check_unpacked, unpack

__all__ = ["Limits", "Unpacked", "check_unpacked", "unpack"]
