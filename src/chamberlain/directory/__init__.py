"""The directory, the suite that really holds users and groups: four ports and one adapter a file or folder.

`port.py` says what the service needs of any directory; each adapter stands beside it and knows nothing of the others.
No rule of the product and no table of the product may live here.
"""
