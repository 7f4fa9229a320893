"""The tool endpoint (Model Context Protocol): one HTTP request, one JSON answer."""
