# What both demonstrations take on the command line; the first comment of each says what, in its indented lines.

fail() {
  echo "demo: $*" >&2
  exit 1
}

usage() {
  sed -n '/^#   /,/^[^#]/s/^# \?//p' "$0" >&2
  exit 2
}

while [ $# -gt 0 ]; do
  if [ "$1" = --kill ] && [ -n "${kill:-}" ]; then
    kill=yes
    shift
    continue
  fi
  [ $# -ge 2 ] || usage
  case $1 in
    --local) local=$2 ;;
    --seed) seed=$2 ;;
    --mib) mib=$2 ;;
    --device) device=$2 ;;
    --nodes) [ -n "${nodes:-}" ] || usage; nodes=$2 ;;
    --guests) [ -n "${guests:-}" ] || usage; guests=$2 ;;
    *) usage ;;
  esac
  shift 2
done
[[ $seed =~ ^[0-9]{1,9}$ ]] || fail "--seed is '$seed'; it must be a whole number of up to 9 digits"
[[ $mib =~ ^[0-9]{2,3}$ ]] && [ $((10#$mib % 10)) -eq 0 ] && [ $((10#$mib)) -ge 10 ] && [ $((10#$mib)) -le 250 ] \
  || fail "--mib is '$mib'; it must be a multiple of 10 from 10 to 250"
