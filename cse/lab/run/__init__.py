"""One job: build (settings to parts), train (the job itself), resume, evaluation; launch makes its processes."""
