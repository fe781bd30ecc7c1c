#!/bin/sh
# Installs what `make proofs` needs, from Debian's packages, where it is missing.
set -u

found() {
  command -v coqc >/dev/null && command -v ocamlfind >/dev/null && command -v ocamlopt >/dev/null \
    && test -d "$(coqc -where)/user-contrib/mathcomp/algebra"
}

found && exit 0
packages="coq libcoq-mathcomp-ssreflect libcoq-mathcomp-algebra ocaml-findlib ocaml-nox"
if command -v apt-get >/dev/null && test "$(id -u)" -eq 0; then
  apt-get update --quiet >&2
  DEBIAN_FRONTEND=noninteractive \
    apt-get install --yes --quiet --no-install-recommends $packages >&2 && found && exit 0
fi
echo "make: Coq with mathcomp not found; say apt-get update && apt-get install $packages" >&2
exit 1
