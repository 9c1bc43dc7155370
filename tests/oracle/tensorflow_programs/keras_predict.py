"""A convolutional network with the functional API classifies a batch."""

import numpy as np
import tensorflow as tf

images = tf.keras.Input((16, 16, 3), name="images")
top = tf.keras.layers.Conv2D(8, 3, activation="relu")(images)
top = tf.keras.layers.GlobalAveragePooling2D()(tf.keras.layers.MaxPooling2D()(top))
model = tf.keras.Model(images, tf.keras.layers.Dense(4, activation="softmax")(top))
print(model.predict(np.ones((4, 16, 16, 3), np.float32), verbose=0).shape)
