"""What is shown, as rows, texts, pictures, timelines and pages; no third-party package is needed for it."""
