-- Claims look for ready jobs (job_ready, 0060); only old processes read this index. Each job costs less without it.
DROP INDEX chamberlain.job_due;
