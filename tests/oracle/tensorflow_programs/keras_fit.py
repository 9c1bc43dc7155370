"""A small classifier is trained and asked, as in the beginner's tutorial."""

import numpy as np
import tensorflow as tf

images = np.random.default_rng(0).random((64, 12, 12), dtype=np.float32)
labels = np.arange(64) % 10
model = tf.keras.Sequential(
    [
        tf.keras.layers.Input((12, 12)),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(16, activation="relu"),
        tf.keras.layers.Dropout(0.2),
        tf.keras.layers.Dense(10),
    ]
)
loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile("adam", loss, metrics=["accuracy"])
model.fit(images, labels, epochs=1, verbose=0)
print(model.predict(images[:3], verbose=0).shape)
