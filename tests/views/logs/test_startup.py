"""TensorFlow 2's first lines in a log are recognised, and say why no GPU is used."""

import gpuplace as tf

LOG = """\
2024-05-01 10:11:12.123456: I tensorflow/core/util/port.cc:153] oneDNN custom operations are on. You may see slightly
2024-05-01 10:11:12.130000: E external/local_xla/xla/stream_executor/cuda/cuda_fft.cc:477] Unable to register cuFFT
WARNING: All log messages before absl::InitializeLog() is called are written to STDERR
E0000 00:00:1714558272.123456    1234 cuda_dnn.cc:8310] Unable to register cuDNN factory: Attempting to register
E0000 00:00:1714558272.123456    1234 cuda_blas.cc:1418] Unable to register cuBLAS factory: Attempting to register
2024-05-01 10:11:12.140000: I tensorflow/core/platform/cpu_feature_guard.cc:210] This TensorFlow binary is optimized
To enable the following instructions: AVX2 AVX512F FMA, in other operations, rebuild TensorFlow with the flags.
W0000 00:00:1714558275.5    1234 gpu_device.cc:2344] Cannot dlopen some GPU libraries. Please make sure the missing
Skipping registering GPU devices...
INFO:tensorflow:Using MirroredStrategy with devices ('/job:localhost/replica:0/task:0/device:CPU:0',)
INFO:tensorflow:Reduce to /job:localhost/replica:0/task:0/device:CPU:0 then broadcast to ('/device:CPU:0',).
I0000 00:00:1714558275.6    1234 placer.cc:125] b: (Const): /job:localhost/replica:0/task:0/device:CPU:0
step 1: loss 0.25
"""


def test_the_start_is_recognised():
    log = tf.parse_log(LOG)
    assert dict(log) == {"b": "/job:localhost/replica:0/task:0/device:CPU:0"}
    assert [left.text.strip() for left in log.unparsed] == ["step 1: loss 0.25"]
    assert [(note.kind, note.line, note.text) for note in log.notes][:2] == [
        ("start-up", 1, "11 startup lines of TensorFlow"),
        ("no GPU", 8, "CUDA libraries are missing"),
    ]
