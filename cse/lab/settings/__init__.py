"""From a command to checked settings: `cse-train model=roberta trainer.lr=1e-5`.

Read values.py first: it makes one flat dictionary of the settings, and compares two values. Then read the files in the
order of this list. Each file imports only files earlier in this order.

1. `roberta` is a choice of the group `model`: the file conf/model/roberta.yaml (conf_files.py, groups.py).
2. Each KEY=VALUE is an Argument, which also records who gave it (arguments.py). The value may refer to another key or
   to an environment variable (references.py).
3. A wrong argument raises one error with a suggestion (lookup.py with other_trainers.yaml, mistakes.py).
4. A command is read into Arguments and flags (command.py).
5. Hydra composes conf/train.yaml, the files of the choices and the Arguments into a config. The config also records
   which of the user's files gave a value (provenance.py, compose.py).
6. A part is a mapping with a `_target_`. Its values are checked against the signature of the class that `_target_`
   names. The schema checks the keys that no part takes (schema.py, nodes.py, parts.py, check.py). In the checked
   config, 1e-5 is a float. cse.lab.run builds the parts from this config.
7. The annotations in these signatures and in the schema give each key a purpose: "science", "machine", "logging" or
   "bookkeeping" (signatures.py, roles.py).
8. --config-dir adds the user's own choices. The plugin hydra_plugins/cse_own.py passes these choices to Hydra.
   user_files.py refuses a file with settings that nothing reads.
"""
