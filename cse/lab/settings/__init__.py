"""From a command to checked settings: `cse-train model=roberta trainer.lr=1e-5`.

The list has the files in the order of reading. Each file imports only files before it.

1. `roberta` is a choice of the group `model`: the file conf/model/roberta.yaml (conf_files.py, groups.py).
2. Each KEY=VALUE is an Argument, which also records its giver (arguments.py). The value may refer to another key or to
   an environment variable (references.py).
3. A wrong argument becomes one message with a suggestion (lookup.py with other_trainers.yaml, mistakes.py).
4. A command is read into Arguments and flags (command.py).
5. Hydra composes conf/train.yaml, the files of the choices and the Arguments into a config. The config also records
   which of the user's files gave a value (provenance.py, compose.py).
6. Each value is checked against the signature of the part that takes the value. The schema checks the keys that no part
   takes (schema.py, nodes.py, parts.py, check.py). In the checked config, 1e-5 is a float. cse.lab.run builds the parts
   from this config.
7. Each key has a role, such as science or machine, from the same signatures (signatures.py, roles.py).
8. --config-dir adds the user's own choices. The plugin hydra_plugins/cse_own.py passes these choices to Hydra. A file
   with settings that nothing reads is refused (user_files.py).

Read values.py first. It makes one flat dictionary of the settings, and compares two values.
"""
