"""What every measurement is made of: a running service, a load, a limit to compare with, a report.

Here lives how something is measured. What is measured, and what it is compared with, stands in the files of bench/
itself, one question each.
"""
