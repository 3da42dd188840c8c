"""From a command to checked settings: `cse-train model=roberta trainer.lr=1e-5`.

1. command.normalized and read_command read the texts into a Command: the Arguments model=roberta and trainer.lr=1e-5
   (arguments.py), and the flags.
2. compose.composed lets Hydra compose conf/train.yaml, conf/model/roberta.yaml and the other choices (groups.py lists
   them, conf_files.py reads the text of one), then sets trainer.lr. mixture.py completes the sources of data=mixture.
   The result is a config, whose values may refer to others and to the environment (references.py).
3. check.validate checks each value. model is a part: its `_target_` is a function with a signature, whose annotations
   are the types (pydantic_types.py), if cse can use it at all (part_contract.py). seed is no part's: schema.py has its
   type. The result is the same config with 1e-5 as a float, which cse.lab.run builds and runs.
4. Whatever asks what a key is for asks roles.py: roles.role_of("trainer.lr").is_science. The same annotations say it,
   read from the source (signatures.py). values.same says which values are the same.
5. --config-dir adds files of the user's own: user_folders.py adopts their folders, user_files.py loads each of them or
   refuses it, by the roles of its keys. user_values.py says which file gave a value.
6. A wrong argument becomes one message in compose.explaining: mistakes.py writes it, lookup.py knows all keys and
   choices, suggest.py those that were meant.
"""
