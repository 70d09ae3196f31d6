#!/usr/bin/env bash
# tests/dev/check_steps.sh -- a step of ./dev test whose folder is in use does not keep later ones waiting, and the
# steps of one folder run one after the other. What comes after a step waits for it, and does not run if it fails. The
# report shows the first complaint of a step that failed, and the end of what it printed.
# SPDX-License-Identifier: MIT
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=../../dev
. "$(dirname "${BASH_SOURCE[0]}")/../../dev" help >/dev/null
mkfifo "$work/third_ran"

first() {
  read -r -t 10 <>"$work/third_ran" || echo "first waited in vain for third" >>"$work/order"
  echo first >>"$work/order"
}
second() { echo second >>"$work/order"; }
fourth() { echo fourth >>"$work/order"; }
third() { echo 1<>"$work/third_ran"; } # which does not wait for a reader
step --in some_folder first "$work/first.log" first
step --in some_folder second "$work/second.log" second
after=first
step fourth "$work/fourth.log" fourth
after=""
step third "$work/third.log" third
finish_steps >/dev/null
report >/dev/null || echo "a step failed" >>"$work/order"

failing() {
  seq -f 'before %.0f' 50
  echo "7: ERROR: the first"
  seq -f 'behind %.0f' 50
  echo "8: ERROR: the last"
  return 1
}
step failing "$work/failing.log" failing
# shellcheck disable=SC2034  # which step() reads
after=failing
step skipped "$work/skipped.log" fourth
finish_steps >/dev/null
report >"$work/report" || tail -n 1 "$work/report" >>"$work/order"
sed -n '/says:$/,$p' "$work/report" | grep -E 'ERROR|\.\.\.|before|(24|25|36|37)$' >>"$work/order"

# Sorted, since second and fourth run at the same time.
order=$(LC_ALL=C sort "$work/order" | tr '\n' ';')
expected="4 passed, 1 failed, 1 skipped;7: ERROR: the first;8: ERROR: the last;[...];behind 24;behind 37;"
if [[ $(head -n 1 "$work/order") == first && $order == "${expected}first;fourth;second;" ]]; then
  echo "1 passed, 0 failed"
else
  echo "FAILED: $order"
  exit 1
fi
