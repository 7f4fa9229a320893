"""Measures the service side by side with what people would use instead. A report, never a test."""
