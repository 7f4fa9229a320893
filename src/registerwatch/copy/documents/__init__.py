"""Fast reads of stored documents."""
