"""From words to checked settings. Read compose (words to a config), then keys (the role of each), then check."""
