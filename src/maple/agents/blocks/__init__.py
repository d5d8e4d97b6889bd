"""What networks are made of: layers, embeddings, the view of the field, attention, heads."""
