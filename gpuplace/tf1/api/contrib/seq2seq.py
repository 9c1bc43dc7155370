"""``tf.contrib.seq2seq``: decoders, attention and sequence losses.

Source: tensorflow/contrib/seq2seq/__init__.py, release 1.15 (names).
"""

import sys as _sys
from typing import TYPE_CHECKING

from gpuplace.api import missing as _missing
from gpuplace.lazy import lazy_names as _lazy_names
from gpuplace.tf1.contrib.sequences import sequence_loss

if TYPE_CHECKING:
    from gpuplace.tf1.contrib.decoding.attention import (
        AttentionMechanism,
        BahdanauAttention,
        BahdanauMonotonicAttention,
        LuongAttention,
        LuongMonotonicAttention,
        hardmax,
        monotonic_attention,
        safe_cumprod,
    )
    from gpuplace.tf1.contrib.decoding.attention_wrapper import AttentionWrapper, AttentionWrapperState
    from gpuplace.tf1.contrib.decoding.basic_decoder import BasicDecoder, BasicDecoderOutput
    from gpuplace.tf1.contrib.decoding.beam_search import (
        BeamSearchDecoder,
        BeamSearchDecoderOutput,
        BeamSearchDecoderState,
        FinalBeamSearchDecoderOutput,
        gather_tree,
        tile_batch,
    )
    from gpuplace.tf1.contrib.decoding.decoder import Decoder, dynamic_decode
    from gpuplace.tf1.contrib.decoding.helpers import (
        CustomHelper,
        GreedyEmbeddingHelper,
        Helper,
        InferenceHelper,
        SampleEmbeddingHelper,
        ScheduledEmbeddingTrainingHelper,
        ScheduledOutputTrainingHelper,
        TrainingHelper,
    )
else:  # loaded on first use
    __getattr__ = _lazy_names(
        __name__,
        {
            "gpuplace.tf1.contrib.decoding.attention": """
                AttentionMechanism BahdanauAttention BahdanauMonotonicAttention LuongAttention LuongMonotonicAttention
                hardmax monotonic_attention safe_cumprod
            """,
            "gpuplace.tf1.contrib.decoding.attention_wrapper": "AttentionWrapper AttentionWrapperState",
            "gpuplace.tf1.contrib.decoding.basic_decoder": "BasicDecoder BasicDecoderOutput",
            "gpuplace.tf1.contrib.decoding.beam_search": """
                BeamSearchDecoder BeamSearchDecoderOutput BeamSearchDecoderState FinalBeamSearchDecoderOutput
                gather_tree tile_batch
            """,
            "gpuplace.tf1.contrib.decoding.decoder": "Decoder dynamic_decode",
            "gpuplace.tf1.contrib.decoding.helpers": """
                CustomHelper GreedyEmbeddingHelper Helper InferenceHelper SampleEmbeddingHelper
                ScheduledEmbeddingTrainingHelper ScheduledOutputTrainingHelper TrainingHelper
            """,
        },
    )

__all__ = [
    "AttentionMechanism", "AttentionWrapper", "AttentionWrapperState", "BahdanauAttention",
    "BahdanauMonotonicAttention", "BasicDecoder", "BasicDecoderOutput", "BeamSearchDecoder", "BeamSearchDecoderOutput",
    "BeamSearchDecoderState", "CustomHelper", "Decoder", "FinalBeamSearchDecoderOutput", "GreedyEmbeddingHelper",
    "Helper", "InferenceHelper", "LuongAttention", "LuongMonotonicAttention", "SampleEmbeddingHelper",
    "ScheduledEmbeddingTrainingHelper", "ScheduledOutputTrainingHelper", "TrainingHelper", "dynamic_decode",
    "gather_tree", "hardmax", "monotonic_attention", "safe_cumprod", "sequence_loss", "tile_batch",
]  # fmt: skip

_missing.advise("contrib.seq2seq", _sys.modules[__name__])
