// examples/14_disruptor.cpp -- a pipeline over one ring buffer: a producer, two stages and a consumer.
// SPDX-License-Identifier: MIT
#include <coracle/coracle.hpp>
#include <cstdio>

constexpr std::size_t ring_size = 8, orders = 1000;

struct order {
  int quantity;
  int price;
  int total;
};
order ring[ring_size];

using sequence = coracle::sequence_barrier<>;  // the progress of a stage
using orders_in = coracle::single_producer_sequencer<>;

/// Fills the free slots of the ring, several at a time if there are several.
coracle::task<> take_orders(coracle::static_thread_pool& pool, orders_in& placed) {
  co_await pool.schedule();
  for (std::size_t next = 0; next != orders;) {
    const auto range = co_await placed.claim_up_to(orders - next);
    for (const std::size_t number : range) {
      ring[number % ring_size] = {static_cast<int>(number % 10) + 1, 100, 0};
    }
    placed.publish(range);
    next += range.size();
  }
}

/// Processes each order in place, once `input` has published it.
template <class Input, class Work>
coracle::task<> stage(coracle::static_thread_pool& pool, const Input& input, sequence& done, Work work) {
  co_await pool.schedule();
  for (std::size_t next = 0; next != orders;) {
    const std::size_t last = co_await input.wait_until_published(next);
    while (next <= last) work(ring[next++ % ring_size]);
    done.publish(last);
  }
}

int main() {
  coracle::static_thread_pool pool{2};
  sequence discounted, totalled, booked;
  orders_in placed{booked, ring_size};  // a slot is free again once it has been booked

  const auto discount = [](order& each) {
    if (each.quantity >= 8) each.price -= 10;
  };
  const auto total = [](order& each) { each.total = each.quantity * each.price; };
  int count = 0;
  long turnover = 0;
  const auto book = [&](const order& each) {
    ++count;
    turnover += each.total;
  };

  coracle::sync_wait(coracle::when_all(take_orders(pool, placed), stage(pool, placed, discounted, discount),
                                       stage(pool, discounted, totalled, total),
                                       stage(pool, totalled, booked, book)));
  std::printf("%d orders through %zu places\nturnover %ld\n", count, ring_size, turnover);
}

// Output:
//   1000 orders through 8 places
//   turnover 523000
