"""From words to checked settings.

Read words (what a word is, in Hydra's grammar) and typed_line (how a line is read), then compose (words to a config),
keys with signatures (what each key is for), check with part_class and schema (the config against the signatures), smoke
(any config made small). groups and own say which files there are, provenance which of them a run's values come from;
mistakes, suggest, other_trainers and lookup answer a word that is wrong; shell shows a command; dotted and typed follow
a key through a config, and values says when two values are the same.
"""
