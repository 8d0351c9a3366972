"""VidOR as a builder of `datasets`. The reader is `sgeval.readers.vidor`.

Versions: 1.0.0, first. A change of what rows hold raises it; the fingerprint of the cache sees any change of code besides.
"""

from sgeval.hub.builder import GraphBuilder


class Vidor(GraphBuilder):
    """VidOR; configs `annotations` and `tracks`."""

    data_set = "vidor"
    VERSION = "1.0.0"
