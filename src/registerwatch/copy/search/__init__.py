"""The search index: Tantivy, derived from the copy, in a folder of this node."""
