"""cse-train, cse-eval, cse-report, cse-doctor and cse-data: words in, a sentence and an exit code out."""
