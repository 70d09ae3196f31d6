// tests/unit/ring_test.cpp -- the queues of an io_uring.
// SPDX-License-Identifier: MIT
#include "../../src/io/ring.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {
using coracle::detail::lock_bias;
using coracle::detail::ring;

void push_nop(ring& to, std::uint64_t name) {
  to.push(lock_bias::use{to.bias()}, [name](io_uring_sqe& entry) {
    entry.opcode = IORING_OP_NOP;
    entry.user_data = name;
  });
}
bool revoke(ring& from, std::uint64_t name) { return from.revoke(lock_bias::use{from.bias()}, name); }
std::vector<std::uint64_t> reaped(ring& from) {
  std::vector<std::uint64_t> names;
  from.reap([&](const io_uring_cqe& completion) { names.push_back(completion.user_data); });
  return names;
}
using names = std::vector<std::uint64_t>;
/// Returns the flags of each mapping of an io_uring in this process, as "rd wr sh": see proc_pid_smaps(5).
std::vector<std::string> flags_of_mappings() {
  constexpr std::string_view begin = "VmFlags: ";
  std::vector<std::string> all;
  std::ifstream smaps{"/proc/self/smaps"};
  bool is_of_ring = false;
  for (std::string line; std::getline(smaps, line);) {
    if (line.find("[io_uring]") != line.npos) is_of_ring = true;
    if (!line.starts_with(begin)) continue;
    if (is_of_ring) all.push_back(line.substr(begin.size()));
    is_of_ring = false;
  }
  return all;
}

TEST_CASE("ring: what is pushed is carried out, in order, once it is submitted") {
  ring its;
  CHECK(its.is_empty());
  push_nop(its, 1);
  push_nop(its, 2);
  CHECK_FALSE(its.is_empty());
  CHECK(reaped(its) == names{});
  its.enter(false);
  CHECK(its.is_empty());
  CHECK(reaped(its) == names{1, 2});
  its.enter(false);
  CHECK(reaped(its) == names{});
}

TEST_CASE("ring: an entry that is not submitted yet can be revoked, another cannot") {
  ring its;
  push_nop(its, 1);
  push_nop(its, 2);
  push_nop(its, 3);
  CHECK(revoke(its, 2));
  CHECK_FALSE(revoke(its, 2));
  CHECK_FALSE(revoke(its, 4));
  its.enter(true);
  CHECK_FALSE(revoke(its, 1));
  CHECK(reaped(its) == names{1, 3});
}

TEST_CASE(
    "ring: more is pushed than the submission queue holds, and more completes than the completion queue "
    "holds") {
  constexpr std::uint64_t many = 5000;
  ring its;
  for (std::uint64_t i = 1; i <= many; ++i) push_nop(its, i);
  names all;
  while (all.size() < many) {
    its.enter(false);
    const names some = reaped(its);
    REQUIRE_FALSE(some.empty());
    all.insert(all.end(), some.begin(), some.end());
  }
  std::uint64_t next = 0;
  CHECK(std::all_of(all.begin(), all.end(), [&](std::uint64_t name) { return name == ++next; }));
  CHECK(reaped(its) == names{});
}

TEST_CASE("ring: leaves nothing mapped, and is not mapped in a child process") {
  const std::size_t before = flags_of_mappings().size();
  {
    const ring its;
    const std::vector<std::string> with_ring = flags_of_mappings();
    CHECK(with_ring.size() == before + 2);
    for (const std::string& flags : with_ring)
      CHECK(flags.find("dc ") != flags.npos);  // not copied by fork()
  }
  CHECK(flags_of_mappings().size() == before);
}

TEST_CASE("ring: a sleep is ended by a completion that another thread brings about") {
  ring its;
  std::thread other{[&] {
    push_nop(its, 7);
    its.enter(false);
  }};
  names seen;
  its.reap_until([&](const io_uring_cqe& completion) { seen.push_back(completion.user_data); },
                 [&] { return !seen.empty(); });
  CHECK(seen == names{7});
  other.join();
}
}  // namespace
