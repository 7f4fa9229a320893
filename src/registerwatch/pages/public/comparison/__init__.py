"""Pages that compare: devices, dates, history."""
