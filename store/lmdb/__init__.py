"""The store on disk: one LMDB environment per file and process."""
