#!/bin/bash
# Sets the environment of the SDK that this file lies in; must be sourced.

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  echo "[ERROR] This file should be run with 'source'"
  echo "Usage: source envsetup.sh"
  exit 1
fi

while [ $# -gt 0 ]; do
  case "$1" in
    -h|--help) echo "Usage: source envsetup.sh"; return 0 ;;
    *) echo "[ERROR] Invalid option: $1"; echo "See -h for help."; return 1 ;;
  esac
done

_root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
[ -d "$_root/include/QNN" ] && export QNN_SDK_ROOT="$_root"
[ -d "$_root/include/SNPE" ] && export SNPE_ROOT="$_root"
export QAIRT_SDK_ROOT="$_root"
export PATH="$_root/bin/x86_64-linux-clang:$PATH"
export LD_LIBRARY_PATH="$_root/lib/x86_64-linux-clang${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export PYTHONPATH="$_root/lib/python/:$_root/benchmarks/QNN/${PYTHONPATH:+:$PYTHONPATH}"
unset _root
echo "[INFO] AISW SDK environment set"
echo "[INFO] QNN_SDK_ROOT: $QNN_SDK_ROOT"
echo "[INFO] SNPE_ROOT: $SNPE_ROOT"
