// tests/model/sequencers.cpp -- sequence_barrier and the sequencers, in every interleaving.
// SPDX-License-Identifier: MIT
#include <array>
#include <coracle/sync/multi_producer_sequencer.hpp>
#include <coracle/sync/sequence_barrier.hpp>
#include <coracle/sync/single_producer_sequencer.hpp>

#include "model_executor.hpp"
#include "model_waits.hpp"

namespace {
using namespace coracle_test;
using barrier = coracle::sequence_barrier<>;
using single_producer = coracle::single_producer_sequencer<>;
using multi_producer = coracle::multi_producer_sequencer<>;

detached wait_and_look(const barrier& numbers, std::size_t target, const plain_int& data, int& seen) {
  const std::size_t last = co_await numbers.wait_until_published(target);
  model_expect(last + 1 > target, "it is published");
  seen = data;
}
void publish_against_wait() {
  barrier numbers;
  plain_int data = 0;
  int seen = 0;
  model_thread publisher{[&] {
    data = 7;
    numbers.publish(0);
  }};
  wait_and_look(numbers, 0, data, seen);
  publisher.join();
  model_expect(seen == 7, "no wake-up is lost, and what was written before it is seen");
}
template <unsigned Waiters>
void publish_against_waiters() {
  barrier numbers;
  plain_int data = 0;
  std::array<int, Waiters> seen{};
  together(Waiters + 1, [&](unsigned index) {
    if (index < Waiters) return static_cast<void>(wait_and_look(numbers, 0, data, seen[index]));
    data = 7;
    numbers.publish(0);
  });
  for (const int each : seen) model_expect(each == 7, "all go on");
}
void publish_twice_against_two() {
  barrier numbers;
  plain_int first = 0, second = 0;
  int seen_first = 0, seen_second = 0;
  model_thread publisher{[&] {
    first = 7;
    numbers.publish(0);
    second = 8;
    numbers.publish(1);
  }};
  model_thread waiter{[&] { wait_and_look(numbers, 1, second, seen_second); }};
  wait_and_look(numbers, 0, first, seen_first);
  publisher.join();
  waiter.join();
  model_expect(seen_first == 7 && seen_second == 8, "each goes on when its number has come");
}
/// A waiter for a number that has not been published yet keeps waiting.
void publish_serves_only_who_has_his_number() {
  barrier numbers;
  plain_int data = 0;
  int early = 0, late = 0;
  wait_and_look(numbers, 1, data, late);
  model_thread publisher{[&] {
    data = 7;
    numbers.publish(0);
  }};
  wait_and_look(numbers, 0, data, early);
  publisher.join();
  model_expect(early == 7 && late == 0, "the first, not the second");
  numbers.publish(1);
  model_expect(late == 7, "now the second");
}
/// The waiter is posted to the executor that it chose; if it did not have to wait, it stays where it is.
void waits_to_go_on_elsewhere() {
  barrier numbers;
  model_executor place;
  plain_int data = 0;
  int seen = 0;
  coracle::executor* on = nullptr;
  const auto wait = [&]() -> detached {
    const std::size_t last = co_await numbers.wait_until_published(0, place);
    model_expect(last == 0, "it is published");
    seen = data;
    on = coracle::current_executor();
  };
  model_thread publisher{[&] {
    data = 7;
    numbers.publish(0);
  }};
  wait();
  publisher.join();
  const bool waited = place.run_posted() == 1;
  model_expect(seen == 7 && on == (waited ? &place : nullptr), "where it has to go on");
}
void stop_against_publish() {
  barrier numbers;
  stoppable_place place;
  wait_end end = wait_end::waits;
  note_end(place, numbers.wait_until_published(0), end);
  model_thread publisher{[&] { numbers.publish(0); }};
  place.request_stop();
  publisher.join();
  model_expect(end != wait_end::waits, "the wait ends");
}
void stop_against_start() {
  barrier numbers;
  stoppable_place place;
  wait_end end = wait_end::waits;
  model_thread stopper{[&] { place.request_stop(); }};
  note_end(place, numbers.wait_until_published(0), end);
  stopper.join();
  model_expect(end == wait_end::cancelled, "the wait ends");
}
void stop_and_publish_against_start() {
  barrier numbers;
  stoppable_place place;
  wait_end end = wait_end::waits;
  model_thread stopper{[&] { place.request_stop(); }};
  model_thread publisher{[&] { numbers.publish(0); }};
  note_end(place, numbers.wait_until_published(0), end);
  stopper.join();
  publisher.join();
  model_expect(end != wait_end::waits, "the wait ends");
}
/// The second waiter in the queue is served whatever happens to the first.
void stop_of_one_of_two() {
  barrier numbers;
  stoppable_place place;
  plain_int data = 0;
  int seen = 0;
  wait_end end = wait_end::waits;
  note_end(place, numbers.wait_until_published(0), end);
  wait_and_look(numbers, 0, data, seen);
  model_thread publisher{[&] {
    data = 7;
    numbers.publish(0);
  }};
  place.request_stop();
  publisher.join();
  model_expect(end != wait_end::waits && seen == 7, "both waits end");
}

/// A ring buffer, its producers and its consumer. Using a slot twice at the same time is reported as a data
/// race.
template <class Sequencer, std::size_t Size>
struct ring {
  explicit ring(std::size_t first_number = 0)
      : first(first_number), consumed(first - 1), claimed(consumed, Size, first - 1) {}

  const std::size_t first;
  barrier consumed;
  Sequencer claimed;
  plain_int slots[Size] = {};
  int sum = 0;

  plain_int& at(std::size_t number) { return slots[number % Size]; }
};
template <std::size_t Size>
detached produce(ring<single_producer, Size>& to, int count) {
  for (int value = 1; value <= count; ++value) {
    const std::size_t number = co_await to.claimed.claim_one();
    to.at(number) = value;
    to.claimed.publish(number);
  }
}
template <std::size_t Size>
detached consume(ring<single_producer, Size>& from, std::size_t count) {
  for (std::size_t next = from.first; next != from.first + count;) {
    const std::size_t last = co_await from.claimed.wait_until_published(next);
    for (; next != last + 1; ++next) from.sum = 10 * from.sum + from.at(next);
    from.consumed.publish(last);
  }
}
constexpr std::size_t last_number = std::size_t{0} - 1;  // the next is 0
void one_produces_one_consumes(std::size_t first) {
  ring<single_producer, 1> here{first};
  model_thread producer{[&] { produce(here, 2); }};
  consume(here, 2);
  producer.join();
  model_expect(here.sum == 12, "each element once, in order");
}
void one_produces_ranges() {
  ring<single_producer, 2> here;
  const auto produce_ranges = [&]() -> detached {
    for (int value = 1; value <= 3;) {
      const auto numbers = co_await here.claimed.claim_up_to(value == 3 ? 1 : 2);
      for (const std::size_t number : numbers) here.at(number) = value++;
      here.claimed.publish(numbers);
    }
  };
  model_thread producer{[&] { produce_ranges(); }};
  consume(here, 3);
  producer.join();
  model_expect(here.sum == 123, "each element once, in order");
}

/// The consumer of a ring with several producers.
template <std::size_t Size>
detached consume(ring<multi_producer, Size>& from, std::size_t count) {
  std::size_t last = from.first - 1;
  while (last + 1 != from.first + count) {
    const std::size_t until = co_await from.claimed.wait_until_published(last + 1, last);
    for (; last != until;) from.sum += from.at(++last);
    from.consumed.publish(last);
  }
}
template <std::size_t Size>
detached produce_one(ring<multi_producer, Size>& to, int value) {
  const std::size_t number = co_await to.claimed.claim_one();
  to.at(number) = value;
  to.claimed.publish(number);
}
void two_elements_through_one_place(std::size_t first) {
  ring<multi_producer, 1> here{first};
  model_thread producer{[&] {
    produce_one(here, 1);
    produce_one(here, 2);
  }};
  consume(here, 2);
  producer.join();
  model_expect(here.sum == 3, "each element once");
}
template <unsigned Producers, std::size_t Size>
void several_produce(std::size_t first) {
  ring<multi_producer, Size> here{first};
  together(Producers + 1, [&](unsigned index) {
    index == 0 ? static_cast<void>(consume(here, Producers))
               : static_cast<void>(produce_one(here, static_cast<int>(index)));
  });
  model_expect(here.sum == Producers * (Producers + 1) / 2, "each element once");
}
void range_is_published_whole() {
  ring<multi_producer, 2> here;
  const auto produce_range = [&]() -> detached {
    const auto numbers = co_await here.claimed.claim_up_to(2);
    model_expect(numbers.size() == 2, "both slots are free");
    for (const std::size_t number : numbers) here.at(number) = static_cast<int>(number) + 1;
    here.claimed.publish(numbers);
  };
  model_thread producer{[&] { produce_range(); }};
  consume(here, 2);
  producer.join();
  model_expect(here.sum == 3, "each element once");
}

/// The ring is full; each publish() of the consumer frees one slot.
struct full_ring : ring<multi_producer, 1> {
  full_ring() {
    produce_one(*this, 1);
    model_expect(!claimed.any_available(), "its place is taken");
  }
};
detached claim_place(full_ring& from, std::size_t& number) { number = co_await from.claimed.claim_one(); }
void first_come_first_served() {
  full_ring here;
  std::size_t first = 0, second = 0;
  claim_place(here, first);
  model_thread later{[&] { claim_place(here, second); }};
  here.consumed.publish(0);
  later.join();
  model_expect(first == 1 && second == 0, "the place is the first one's");
  here.consumed.publish(1);
  model_expect(second == 2, "the next one the other's");
}
void stop_against_a_free_place() {
  full_ring here;
  stoppable_place place;
  wait_end end = wait_end::waits;
  std::size_t next = 0;
  note_end(place, here.claimed.claim_one(), end);
  model_thread consumer{[&] { here.consumed.publish(0); }};
  place.request_stop();
  consumer.join();
  model_expect(end != wait_end::waits, "the wait ends");
  claim_place(here, next);
  model_expect(next == (end == wait_end::cancelled ? 1 : 0), "a cancelled claim has claimed nothing");
  if (next == 0) here.consumed.publish(1);
}
void stop_of_the_first_of_two_claims() {
  full_ring here;
  stoppable_place place;
  wait_end end = wait_end::waits;
  std::size_t second = 0;
  note_end(place, here.claimed.claim_one(), end);
  claim_place(here, second);
  model_thread consumer{[&] { here.consumed.publish(0); }};
  place.request_stop();
  consumer.join();
  model_expect(end != wait_end::waits, "the wait ends");
  model_expect(second == (end == wait_end::cancelled ? 1 : 0), "the place goes to one of them");
  if (second == 0) here.consumed.publish(1);
}
void stop_and_free_place_against_claim() {
  full_ring here;
  stoppable_place place;
  wait_end end = wait_end::waits;
  std::size_t next = 0;
  model_thread stopper{[&] { place.request_stop(); }};
  model_thread consumer{[&] { here.consumed.publish(0); }};
  note_end(place, here.claimed.claim_one(), end);
  stopper.join();
  consumer.join();
  model_expect(end != wait_end::waits, "the wait ends");
  claim_place(here, next);
  model_expect(next == (end == wait_end::cancelled ? 1 : 0), "a cancelled claim has claimed nothing");
  if (next == 0) here.consumed.publish(1);
}
/// A waiter that has lost its choice is first in the queue: it does not keep the next one from being served.
void one_of_two() {
  full_ring left, right;
  coracle::detail::choice one_of;
  stoppable_place place;
  wait_end ends[2]{};
  std::size_t behind = 0;
  note_end(place, one_of, left.claimed.claim_one(), ends[0]);
  note_end(place, one_of, right.claimed.claim_one(), ends[1]);
  model_thread consumer{[&] { left.consumed.publish(0); }};
  right.consumed.publish(0);
  consumer.join();
  const bool got_left = ends[0] == wait_end::carried_out;
  model_expect(got_left != (ends[1] == wait_end::carried_out), "one of them");
  claim_place(got_left ? right : left, behind);
  model_expect(behind == 1, "the other place is free for the next");
  place.request_stop();
  model_expect(ends[got_left ? 1 : 0] == wait_end::cancelled, "the other ends when it is stopped");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("sequence barrier: publish against wait", run.all, publish_against_wait);
  run.check("sequence barrier: publish against three", 3, publish_against_waiters<3>);
  run.check("sequence barrier: two numbers, two waiters", 4, publish_twice_against_two);
  run.check("sequence barrier: one of two has its number", run.all, publish_serves_only_who_has_his_number);
  run.check("sequence barrier: to go on elsewhere", run.all, waits_to_go_on_elsewhere);
  run.check("sequence barrier: stop against publish", run.all, stop_against_publish);
  run.check("sequence barrier: stop against start", run.all, stop_against_start);
  run.check("sequence barrier: stop and publish against start", 4, stop_and_publish_against_start);
  run.check("sequence barrier: stop of one of two", run.all, stop_of_one_of_two);
  run.check("single producer: two elements through one place", run.all, [] { one_produces_one_consumes(0); });
  run.check("single producer: behind the last number", run.all,
            [] { one_produces_one_consumes(last_number); });
  run.check("single producer: ranges", run.all, one_produces_ranges);
  run.check("multi producer: two elements through one place", run.all,
            [] { two_elements_through_one_place(0); });
  run.check("multi producer: behind the last number", run.all,
            [] { two_elements_through_one_place(last_number); });
  run.check("multi producer: two produce", 4, [] { several_produce<2, 2>(0); });
  run.check("multi producer: two produce, behind the last number", 3,
            [] { several_produce<2, 2>(last_number); });
  run.check("multi producer: three produce", 2, [] { several_produce<3, 2>(0); });
  run.check("multi producer: two produce into one place", 4, [] { several_produce<2, 1>(0); });
  run.check("multi producer: a range", run.all, range_is_published_whole);
  run.check("multi producer: first come, first served", run.all, first_come_first_served);
  run.check("multi producer: stop against a free place", run.all, stop_against_a_free_place);
  run.check("multi producer: stop of the first of two", run.all, stop_of_the_first_of_two_claims);
  run.check("multi producer: stop and a free place, against a claim", 3, stop_and_free_place_against_claim);
  run.check("multi producer: one of two", run.all, one_of_two);
  return run.finish();
}
