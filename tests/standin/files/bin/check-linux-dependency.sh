#!/bin/bash
# Says which programs are there; installs nothing.

for name in clang++ make objcopy; do
  if place="$(command -v "$name")"; then
    echo "[INFO] Found $name at $place"
  else
    echo "[ERROR] $name is not installed"
  fi
done
echo "Done!!"
