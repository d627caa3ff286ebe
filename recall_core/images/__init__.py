"""Bytes → an image → a vector.

The files, in the order of the flow; each imports only those above it:

``decoding``    one image decoded safely; its header is judged before its pixels are read
``image_set``   ``Pictures``: many images, decoded on demand
``thumbnails``  images small enough to show, and two images of one size to compare
``corruption``  images degraded by kind and severity
``looks``       digests and perceptual hashes of all images in one pass; images of a single colour
``steady``      linear algebra with the same bits on every machine
``encoders``    images → vectors
"""

from .corruption import CORRUPTIONS, DRAWN_CORRUPTIONS, corrupt, parse_corruption
from .decoding import check_inside
from .encoders import ENCODERS, FITTED, encode, fit_targets, import_encoder, pixels
from .image_set import UNREADABLE, Pictures, array_digest, picture_digests, reason
from .looks import Looks, look, perceptual_hash
from .thumbnails import difference, fitted, thumbnail, thumbnail_uri

__all__ = [
    "CORRUPTIONS",
    "DRAWN_CORRUPTIONS",
    "ENCODERS",
    "FITTED",
    "UNREADABLE",
    "Looks",
    "Pictures",
    "array_digest",
    "check_inside",
    "corrupt",
    "difference",
    "encode",
    "fit_targets",
    "fitted",
    "import_encoder",
    "look",
    "parse_corruption",
    "perceptual_hash",
    "picture_digests",
    "pixels",
    "reason",
    "thumbnail",
    "thumbnail_uri",
]
