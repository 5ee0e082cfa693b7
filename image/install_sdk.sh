#!/bin/sh
# install_sdk.sh ARCHIVE VERSION FOLDER: unpacks Qualcomm's SDK of that version to FOLDER/VERSION.
#
# The archive holds qairt/<version>/. Unpacking may lose which files are programs, so that is set
# anew, and everybody may read what is there.
set -eu

if [ "$#" -ne 3 ]; then
  echo "usage: install_sdk.sh ARCHIVE VERSION FOLDER" >&2
  exit 2
fi
archive=$1 version=$2 folder=$3
host=x86_64-linux-clang

fail() {
  echo "install_sdk.sh: $1" >&2
  exit 1
}

if [ -e "$folder/$version" ]; then
  fail "$folder/$version is there already"
fi
mkdir -p "$folder"
unpacked=$(mktemp -d "$folder/.unpacked.XXXXXX")
trap 'rm -rf "$unpacked"' EXIT
unzip -q "$archive" -d "$unpacked" || fail "$archive cannot be unpacked"

root=$unpacked/qairt/$version
if [ ! -d "$root" ]; then
  fail "the archive has no qairt/$version in it, but: $(cd "$unpacked" && echo ./*/*)"
fi
if [ ! -f "$root/sdk.yaml" ]; then
  fail "qairt/$version has no sdk.yaml, which says what version it is"
fi
said=$(sed -n "s/^version:[[:space:]]*['\"]\{0,1\}v\{0,1\}\([0-9][0-9.]*\).*/\1/p" "$root/sdk.yaml")
case $said in
  '') fail "sdk.yaml of qairt/$version says no version" ;;
esac
# it may tell fewer of the four numbers than the folder does, and not others
case $version. in
  "$said".*) ;;
  *) fail "qairt/$version says in its sdk.yaml that it is $said" ;;
esac
for tool in qnn-onnx-converter qnn-model-lib-generator qnn-context-binary-generator; do
  if [ ! -f "$root/bin/$host/$tool" ]; then
    fail "qairt/$version has no bin/$host/$tool: the archive is not whole"
  fi
done

chmod -R a+rX "$root"
find "$root/bin" -type f -exec chmod a+x {} +
mv "$root" "$folder/$version"
