"""From a command to checked settings: `cse-train model=roberta trainer.lr=1e-5`. The files are in the order of reading.

1. `roberta` is a choice of the group `model`: the file conf/model/roberta.yaml (groups.py, conf_files.py).
2. A command is read into Arguments, each a KEY=VALUE with who gave it, and flags (arguments.py, command.py).
3. Hydra composes conf/train.yaml, the files of the choices and the Arguments into a config, where a value may refer to
   another key or to the environment (compose.py, references.py).
4. --config-dir adds choices of the user's own, which the plugin hydra_plugins/cse_own.py gives to Hydra
   (user_files.py).
5. A wrong argument becomes one message, which says what may be meant (mistakes.py, lookup.py, other_trainers.yaml).
6. Each value is checked by the signature of the part that takes it, or as a key that no part takes (check.py, parts.py,
   nodes.py, schema.py). The result is the same config with 1e-5 as a float, which cse.lab.run builds and runs.
7. Each key has a role, such as science or machine, by the same signatures (roles.py, signatures.py).

values.py serves them all: settings as one flat dictionary, and when two values are the same.
"""
