"""PSG (Panoptic Scene Graph) as a builder of `datasets`. The reader is `sgeval.readers.psg`.

Versions: 1.0.0, first. A change of what rows hold raises it; the fingerprint of the cache sees any change of code besides.
"""

from sgeval.hub.builder import GraphBuilder


class Psg(GraphBuilder):
    """PSG (Panoptic Scene Graph); configs `full` and `competition`."""

    data_set = "psg"
    VERSION = "1.0.0"
