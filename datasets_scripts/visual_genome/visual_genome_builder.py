"""Visual Genome as a builder of `datasets`. The reader is `sgeval.readers.visual_genome`.

Versions: 1.0.0, first; 1.1.0, of several entries for a picture in image_data.json the first holds, and ids in `merged_ids`
repeat as an object lists them. A change of what rows hold raises it; the fingerprint of the cache sees any change of code
besides.
"""

from sgeval.hub.builder import GraphBuilder


class VisualGenome(GraphBuilder):
    """Visual Genome; configs `v1.4` and `v1.0`."""

    data_set = "visual_genome"
    VERSION = "1.1.0"
