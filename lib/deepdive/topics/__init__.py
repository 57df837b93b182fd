"""Topic modeling: BERTopic from its parts, UMAP, HDBSCAN, and class-based TF-IDF."""
