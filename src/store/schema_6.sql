-- What schema 6 added to schema 5: who asks for one benchmark of a hundred need not read the plans of the others.
CREATE INDEX planned_benchmark_of_benchmark ON planned_benchmark (benchmark);
