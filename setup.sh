#!/usr/bin/env bash
# What does this machine lack for a command of ours? Installs it through apt where that is possible, or says what to type.
# Usage: ./setup.sh jdk maven venv [chromium systemd]
set -euo pipefail

packages=()
want() { # name, package, test
  eval "$3" >/dev/null 2>&1 || packages+=("$2")
}

for thing in "$@"; do
  case "$thing" in
    jdk) want jdk openjdk-17-jdk-headless '(javac -version 2>&1 | grep -qE "javac (1[7-9]|[2-9][0-9])") && command -v java' ;;
    maven) want maven maven 'command -v mvn' ;;
    venv) want venv python3-venv "${PYTHON:-python3} -c 'import ensurepip, venv'" ;;
    chromium) want chromium chromium 'command -v chromium' ;;
    systemd) want systemd systemd 'command -v systemd-analyze' ;;
    *) echo "setup.sh: unknown requirement: $thing" >&2; exit 2 ;;
  esac
done

if ! "${PYTHON:-python3}" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  echo "Python 3.11 or newer is needed; name it: make PYTHON=/path/to/python3.11 ..." >&2
  exit 1
fi
[ ${#packages[@]} -eq 0 ] && exit 0

sudo=""
[ "$(id -u)" -eq 0 ] || sudo="sudo -n"
if ! command -v apt-get >/dev/null || { [ -n "$sudo" ] && ! $sudo true 2>/dev/null; }; then
  echo "Missing: ${packages[*]}. Type: sudo apt-get install -y ${packages[*]}" >&2
  exit 1
fi
echo "Installing through apt: ${packages[*]}"
log=$(mktemp)
if ! { $sudo apt-get update && DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y --no-install-recommends "${packages[@]}"; } >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "apt could not install them. Type: sudo apt-get install -y ${packages[*]}" >&2
  exit 1
fi
rm -f "$log"
