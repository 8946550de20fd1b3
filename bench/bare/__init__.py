"""What writing alone comes to. It is a folder, so that `dev.py bench` runs it only when it is named."""
