"""Guest policies: administration, timers, evaluation, reminders and reports, and simulation."""
