"""PSG (Panoptic Scene Graph) as a builder of `datasets`. The reader is `sgeval.readers.psg`.

Versions: 1.0.0, first; 1.1.0, config `sgg_benchmark`. A change of what rows hold raises it; the fingerprint of the cache
sees any change of code besides.
"""

from sgeval.hub.builder import GraphBuilder


class Psg(GraphBuilder):
    """PSG (Panoptic Scene Graph); configs `full`, `competition` and `sgg_benchmark`."""

    data_set = "psg"
    VERSION = "1.1.0"
