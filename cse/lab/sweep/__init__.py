"""Many runs: line (what was typed), jobs (what each runs), engine (all of them), process (one of them)."""
