"""The tool endpoint: the Model Context Protocol over one HTTP request and one JSON answer."""
