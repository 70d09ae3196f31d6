// tests/model/letterbox.cpp -- a letterbox: each entry reaches the thread that has opened it, once.
// SPDX-License-Identifier: MIT
#include "../../src/exec/letterbox.hpp"

#include <coracle/base/park.hpp>
#include <memory>

#include "framework/model_test.hpp"

namespace {
using coracle::resumption;
using coracle::detail::letterbox;
using namespace coracle_test;

struct letter : resumption {
  coracle::detail::plain<int> data = 0;
  int read = 0;
};
bool put(letterbox& box, letter& one) {
  one.data = 42;
  return box.put(one);
}
/// Behaves like a worker that waits only briefly.
void receive(letterbox& box) {
  if (!box.open()) return;
  auto* const one = static_cast<letter*>(box.close());
  if (!one) return;
  model_expect(one->data == 42, "with what was written before");
  ++one->read;
}

void one_of_each() {
  letterbox box;
  letter one;
  bool accepted = false;
  model_thread poster{[&] { accepted = put(box, one); }};
  receive(box);
  receive(box);
  poster.join();
  model_expect(one.read == (accepted ? 1 : 0), "read once if it was accepted, and only then");
  model_expect(box.open(), "closed in the end");
}
void two_posters() {
  letterbox box;
  letter one, other;
  bool one_accepted = false, other_accepted = false;
  model_thread first{[&] { one_accepted = put(box, one); }},
      second{[&] { other_accepted = put(box, other); }};
  receive(box);
  receive(box);
  first.join();
  second.join();
  model_expect(one.read == (one_accepted ? 1 : 0) && other.read == (other_accepted ? 1 : 0),
               "each read once");
}
void two_receivers() {
  letterbox box;
  letter one;
  model_thread receiver{[&] { receive(box); }}, poster{[&] {
    if (!put(box, one)) ++one.read;
  }};
  receive(box);
  receiver.join();
  poster.join();
  model_expect(one.read == 1, "read once, by whoever had opened it then");
  model_expect(box.open(), "closed in the end");
}
/// The thread that gets the last entry may destroy the letterbox.
void freed_behind_a_letter() {
  auto box = std::make_unique<letterbox>();
  letter one;
  const bool mine = box->open();
  model_expect(mine, "nobody else has it");
  model_thread poster{[&, at = box.get()] { model_expect(put(*at, one), "it is open"); }};
  while (box->is_empty()) coracle::detail::spin_pause();
  model_expect(box->close() == &one, "it is there");
  box.reset();
  poster.join();
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("letterbox: one of each", model_test::all, one_of_each);
  run.check("letterbox: two posters", 4, two_posters);
  run.check("letterbox: two receivers", 4, two_receivers);
  run.check("letterbox: freed behind a letter", model_test::all, freed_behind_a_letter);
  return run.finish();
}
