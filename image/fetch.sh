#!/bin/sh
# fetch.sh URL SHA256 FILE: downloads FILE, and keeps it only when it has that digest.
set -eu

if [ "$#" -ne 3 ] || [ -z "$1" ]; then
  echo "usage: fetch.sh URL SHA256 FILE" >&2
  exit 2
fi
url=$1 digest=$2 file=$3

case $digest in
  *[!0-9a-f]* | '') echo "fetch.sh: '$digest' is no sha256, which has 64 of 0-9 and a-f" >&2; exit 2 ;;
esac
if [ "${#digest}" -ne 64 ]; then
  echo "fetch.sh: '$digest' is no sha256, which has 64 of 0-9 and a-f" >&2
  exit 2
fi

# a download that broke off goes on where it was; what was refused for good is not asked again
curl --fail --location --silent --show-error --retry 10 --retry-delay 30 \
  --retry-connrefused --continue-at - --output "$file.part" "$url"
if ! printf '%s  %s\n' "$digest" "$file.part" | sha256sum --check --status; then
  found=$(sha256sum "$file.part" | cut -d ' ' -f 1)
  rm -f "$file.part"
  echo "fetch.sh: $url has another digest" >&2
  echo "  expected $digest" >&2
  echo "  found    $found" >&2
  exit 1
fi
mv "$file.part" "$file"
