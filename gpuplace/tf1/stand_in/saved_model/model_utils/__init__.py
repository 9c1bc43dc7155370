"""Modules of ``tensorflow.python.saved_model.model_utils`` that programs import."""
