"""``tf.strings``: operations on text under their shorter names.

Source: tensorflow/_api/v1/strings, release 1.15 (names).
"""

from gpuplace.api.printing import string_format as format
from gpuplace.ops.text.regex_and_encoding import regex_full_match, regex_replace
from gpuplace.ops.text.splitting import split
from gpuplace.ops.text.splitting import string_to_hash_bucket as to_hash_bucket
from gpuplace.ops.text.splitting import string_to_hash_bucket_fast as to_hash_bucket_fast
from gpuplace.ops.text.splitting import string_to_hash_bucket_strong as to_hash_bucket_strong
from gpuplace.ops.text.strings import as_string, reduce_join, substr, unsorted_segment_join
from gpuplace.ops.text.strings import string_join as join
from gpuplace.ops.text.strings import string_length as length
from gpuplace.ops.text.strings import string_lower as lower
from gpuplace.ops.text.strings import string_strip as strip
from gpuplace.ops.text.strings import string_to_number as to_number
from gpuplace.ops.text.strings import string_upper as upper
from gpuplace.ops.text.unicode import unicode_transcode

__all__ = [
    "as_string",
    "format",
    "join",
    "length",
    "lower",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "strip",
    "substr",
    "to_hash_bucket",
    "to_hash_bucket_fast",
    "to_hash_bucket_strong",
    "to_number",
    "unicode_transcode",
    "unsorted_segment_join",
    "upper",
]
