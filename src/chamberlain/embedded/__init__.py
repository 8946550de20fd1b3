"""Separate products that come along so that all works on a laptop: a database, a directory, an identity platform.

Each stands by itself: it knows nothing of the product, nor of the other two, and could be replaced by a real one by
changing an address. No rule, no use case and no setting of the product may live here.
"""
