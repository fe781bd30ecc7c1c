"""One file per outside library, imported only when it is used."""
