"""Archives of strangers, unpacked so that nothing is written outside a folder, and nothing half in it."""

from sgeval.archives.unpacking import Unpacked, check_unpacked, unpack
from sgeval.archives.writing import Limits, extract

__all__ = ["Limits", "Unpacked", "check_unpacked", "extract", "unpack"]
