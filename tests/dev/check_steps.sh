#!/usr/bin/env bash
# tests/dev/check_steps.sh -- a step of ./dev test whose folder is in use does not keep later ones waiting, and the
# steps of one folder run one after the other.
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
third() { echo 1<>"$work/third_ran"; } # which does not wait for a reader
step --in some_folder first "$work/first.log" first
step --in some_folder second "$work/second.log" second
step third "$work/third.log" third
finish_steps >/dev/null

order=$(tr '\n' ';' <"$work/order")
if [[ $order == "first;second;" ]] && report >/dev/null; then
  echo "1 passed, 0 failed"
else
  echo "FAILED: $order"
  exit 1
fi
