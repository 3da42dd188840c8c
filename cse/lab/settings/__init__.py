"""From a command to checked settings: `cse-train model=roberta trainer.lr=1e-5`. In reading order:

1. `model` is a group and `roberta` a choice of it: groups.py finds the file conf/model/roberta.yaml, conf_files.py
   reads its text, and values.py says when two plain values are the same.
2. arguments.py has Argument, one KEY=VALUE of a command, and command.py reads a command into its Arguments and flags.
3. compose.py lets Hydra compose conf/train.yaml, the chosen files and the Arguments into a config, and references.py
   fills in the values that other keys or the environment give.
4. --config-dir adds choices of the user's own: groups.py adopts the folder, and user_files.py loads a file through the
   plugin hydra_plugins/cse_own.py, and says which file gave a value.
5. mistakes.py writes one message for a wrong argument, and lookup.py knows what a wrong name means: a near name of a
   setting or a choice, or another trainer's name (other_trainers.yaml).
6. check.py checks each value: parts.py by the signature of the part that takes it, schema.py has the keys that no part
   takes, and nodes.py checks the values of one part, or of these keys, with pydantic.
7. roles.py says what a key is for, by the same signatures, which signatures.py reads from the source.
"""
