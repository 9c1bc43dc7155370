"""Input pipelines: datasets, their iterators, and the stages that compute their elements."""
