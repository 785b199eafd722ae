#!/usr/bin/env bash
# A real MediaWiki for tests: Debian's package, unpacked and not installed, on SQLite and PHP's own server, loopback only.
#
#   up.sh prepare              fetch and unpack the package (needs apt and a network, once)
#   up.sh ready                say by the exit code whether that was done
#   up.sh install DIR PORT     make an empty wiki in DIR
#   up.sh import DIR DUMP      import a full-history export (plain XML)
#   up.sh dump DIR             write DIR/dump.xml, a full-history export of the whole wiki
#   up.sh jobs DIR             run what the wiki has put off
#   up.sh recent DIR          list imported revisions among the recent changes
#   up.sh serve DIR PORT       serve it until killed
#
# MEDIAWIKI_HOME holds the unpacked package (default: ~/.cache/hellofresh/mediawiki).
set -euo pipefail

verb=${1:?verb}
home=${MEDIAWIKI_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/hellofresh/mediawiki}
code=$home/usr/share/mediawiki
run() { php -d memory_limit=512M "$code/maintenance/$1" "${@:2}"; }

if [ "$verb" = ready ]; then
  [ -e "$code/api.php" ]
  exit
fi
if [ "$verb" = prepare ]; then
  [ ! -e "$code/api.php" ] || exit 0
  fresh=$(mktemp -d)
  trap 'rm -rf "$fresh"' EXIT
  chmod 755 "$fresh"
  (cd "$fresh" && apt-get download -qq mediawiki mediawiki-classes 2>"$fresh/log") ||
    { cat "$fresh/log" >&2; exit 1; }
  mkdir -p "$(dirname "$home")"
  for deb in "$fresh"/*.deb; do dpkg -x "$deb" "$fresh/root"; done
  rm -rf "$home"
  mv "$fresh/root" "$home"
  exit 0
fi

dir=${2:?folder}
export MW_CONFIG_FILE=$dir/LocalSettings.php
case $verb in
install)
  port=${3:?port}
  unset MW_CONFIG_FILE
  mkdir -p "$dir/db"
  run install.php --dbtype sqlite --dbname wiki --dbpath "$dir/db" --confpath "$dir" --scriptpath "" \
    --server "http://127.0.0.1:$port" --pass "${MEDIAWIKI_PASSWORD:?}" --skins Vector Test Admin >"$dir/install.log" 2>&1 ||
    { tail -5 "$dir/install.log" >&2; exit 1; }
  cat >>"$dir/LocalSettings.php" <<'PHP'
$wgRateLimits = [];
$wgGroupPermissions['*']['noratelimit'] = true;
$wgGroupPermissions['sysop']['deleterevision'] = true;
$wgGroupPermissions['sysop']['suppressrevision'] = true;
$wgUseRCPatrol = false;           # else a revert counts only once somebody has patrolled it
$wgJobRunRate = 0;                # jobs run when asked to
$wgRCMaxAge = 40 * 365 * 86400;   # recent changes reach back as far as the imported histories
$wgMainCacheType = CACHE_NONE;
$wgShowExceptionDetails = true;
PHP
  ;;
import)
  run importDump.php --no-updates --username-prefix=en "${3:?dump}" >"$dir/import.log" 2>&1 ||
    { tail -5 "$dir/import.log" >&2; exit 1; }
  ;;
recent)
  run rebuildrecentchanges.php >"$dir/recent.log" 2>&1
  ;;
dump)
  run dumpBackup.php --full --quiet --output="file:$dir/dump.xml" >"$dir/dump.log" 2>&1
  ;;
jobs)
  run runJobs.php >"$dir/jobs.log" 2>&1
  ;;
serve)
  export PHP_CLI_SERVER_WORKERS=3
  exec php -d memory_limit=512M -S "127.0.0.1:${3:?port}" -t "$code" >"$dir/server.log" 2>&1
  ;;
*)
  echo "unknown verb $verb" >&2
  exit 2
  ;;
esac
