"""From words to checked settings.

Read words (what was typed), then compose (words to a config), keys (what each key is for), check (the config against
the signatures). groups and own say which files there are; mistakes, suggest and lookup answer a word that is wrong.
"""
