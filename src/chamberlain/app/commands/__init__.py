"""Commands that open the database instead of calling the API."""
