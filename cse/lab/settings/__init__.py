"""From words to checked settings: `cse-train model=roberta trainer.lr=1e-5`. Each step has its file.

What was typed    typed_line reads a line into words; words: one KEY=VALUE; grammar: how Hydra and a shell write it;
                  python_words: how Python writes it
What there is     groups: the files of conf/ and of --config-dir; conf_files: the text of one; user_file: the user's
The config        compose: the words over these files; references: values that stand elsewhere;
                  user_values: which file of the user's gave a value
Its meaning       keys: what each key is for, as schema and signatures declare it; values: which values are the same
Its check         check: each node against the types (pydantic_types) of its part or of the command (schema);
                  part_contract: what a part's class must be
A wrong word      mistakes: one sentence for it; suggest and lookup know what it may have meant
"""
