"""Commands that open the database of this machine, in place of calling the API."""
