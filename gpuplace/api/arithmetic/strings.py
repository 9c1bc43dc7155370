"""``tf.strings``: operations on text under their shorter names.

Source: tensorflow/_api/v1/strings, release 1.15 (names).
"""

from typing import TYPE_CHECKING

from gpuplace.api.printing import string_format as format
from gpuplace.lazy import lazy_names as _lazy_names
from gpuplace.ops.text.strings import as_string, reduce_join, substr, unsorted_segment_join
from gpuplace.ops.text.strings import string_join as join
from gpuplace.ops.text.strings import string_length as length
from gpuplace.ops.text.strings import string_lower as lower
from gpuplace.ops.text.strings import string_strip as strip
from gpuplace.ops.text.strings import string_to_number as to_number
from gpuplace.ops.text.strings import string_upper as upper

if TYPE_CHECKING:
    from gpuplace.tf1.text.regex_and_encoding import regex_full_match, regex_replace
    from gpuplace.tf1.text.splitting import split
    from gpuplace.tf1.text.splitting import string_to_hash_bucket as to_hash_bucket
    from gpuplace.tf1.text.splitting import string_to_hash_bucket_fast as to_hash_bucket_fast
    from gpuplace.tf1.text.splitting import string_to_hash_bucket_strong as to_hash_bucket_strong
    from gpuplace.tf1.text.unicode import unicode_transcode
else:  # imported on first use
    __getattr__ = _lazy_names(
        __name__,
        {
            "gpuplace.tf1.text.regex_and_encoding": "regex_full_match regex_replace",
            "gpuplace.tf1.text.splitting": """
                split string_to_hash_bucket as to_hash_bucket
                string_to_hash_bucket_fast as to_hash_bucket_fast
                string_to_hash_bucket_strong as to_hash_bucket_strong
            """,
            "gpuplace.tf1.text.unicode": "unicode_transcode",
        },
    )

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
