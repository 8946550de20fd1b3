"""What the API answers and takes, as typed values.

Each noun has a file of the name that it has in the service. Members that the service adds one day are passed over, and
enumerations take values that they do not know. No calls may live here.
"""
