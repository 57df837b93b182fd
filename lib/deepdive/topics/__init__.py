"""Topic modeling: BERTopic from its parts (class-based TF-IDF, outliers), and its baselines."""
