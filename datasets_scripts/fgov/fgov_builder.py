"""FG-OV as a builder of `datasets`. The reader is `sgeval.readers.fgov`.

Versions: 1.0.0, first; 1.1.0, pictures without a path and objects with the id of another stay. A change of what rows hold
raises it; the fingerprint of the cache sees any change of code besides.
"""

from sgeval.hub.builder import GraphBuilder


class Fgov(GraphBuilder):
    """FG-OV; configs `coco` and `o365`."""

    data_set = "fgov"
    VERSION = "1.1.0"
