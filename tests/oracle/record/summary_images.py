"""Records what TensorFlow 1.15.5 makes of the images of ``tests/ops/summary_images.py``.

usage, with Python 3.7 and TensorFlow 1.15.5:
    python tests/oracle/record/summary_images.py tests/ops/data/summary_images.json

The file maps a name to the values of its summary: tag, height, width, colorspace, and the pixels in one list.
"""

import importlib.util
import json
import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"


def main(path):
    import tensorflow as tf

    source = os.path.join(os.path.abspath(__file__).rsplit(os.sep, 3)[0], "ops", "summary_images.py")
    spec = importlib.util.spec_from_file_location("summary_images", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    recorded = {}
    with tf.Session() as session:
        for name, batch in module.images().items():
            summary = tf.Summary.FromString(session.run(tf.summary.image(name, batch, 2)))
            recorded[name] = []
            for value in summary.value:
                image = value.image
                pixels = session.run(tf.image.decode_png(image.encoded_image_string, image.colorspace))
                row = [value.tag, image.height, image.width, image.colorspace, pixels.ravel().tolist()]
                recorded[name].append(row)
    with open(path, "w") as file:
        json.dump(recorded, file, separators=(",", ":"))


if __name__ == "__main__":
    main(*sys.argv[1:])
