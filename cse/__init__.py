"""cse: the laboratory for contrastive sentence embeddings."""
