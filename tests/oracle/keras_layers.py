"""Exports Keras applications as SavedModels, with the layers that Keras itself names.

    python tests/oracle/keras_layers.py FOLDER [NAME ...]

run with TensorFlow 2.21 writes ``FOLDER/NAME/saved_model.pb`` as ``model.export`` does, and beside it ``layers.json``:
the names of ``model.layers`` in their order, without those that leave no op in a graph that serves, such as dropouts.
``python tests/oracle/record/keras_layers.py FOLDER`` then records both, for
``tests/model/structure/test_keras_layers.py``.
"""

import json
import os
import shutil
import subprocess
import sys

APPLICATIONS = (
    "ResNet50 ResNet50V2 ResNet101 ResNet101V2 VGG16 VGG19 InceptionV3 InceptionResNetV2 Xception MobileNet MobileNetV2"
    " MobileNetV3Small MobileNetV3Large DenseNet121 DenseNet169 NASNetMobile EfficientNetB0 EfficientNetB1"
    " EfficientNetV2B0 ConvNeXtTiny"
).split()
WITHOUT_OPS = ("InputLayer", "Dropout", "SpatialDropout2D", "StochasticDepth")
"""Classes of layers that hand their input on where a model serves."""


def export(name, folder):
    """Export an application, and write the names of its layers."""
    import tensorflow as tf

    model = getattr(tf.keras.applications, name)(weights=None)
    target = os.path.join(folder, name)
    model.export(target, verbose=False)
    shutil.rmtree(os.path.join(target, "variables"))
    layers = [
        layer.name
        for layer in model.layers
        if type(layer).__name__ not in WITHOUT_OPS
        and not (type(layer).__name__ == "Activation" and layer.activation.__name__ == "linear")
    ]
    with open(os.path.join(target, "layers.json"), "w", encoding="utf-8") as file:
        json.dump(layers, file)


def main():
    """Export each application in a process of its own, so that the largest bounds the memory."""
    folder, *names = sys.argv[1:]
    if names[:1] == ["--one"]:
        return export(names[1], folder)
    for name in names or APPLICATIONS:
        subprocess.run([sys.executable, __file__, folder, "--one", name], check=True)
        print(name, flush=True)


if __name__ == "__main__":
    main()
