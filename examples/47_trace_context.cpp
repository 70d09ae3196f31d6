// examples/47_trace_context.cpp -- spans, as in OpenTelemetry, nested through awaits, when_all and a pool.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <coracle/coracle.hpp>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>

using namespace std::chrono_literals;
using time_point = std::chrono::steady_clock::time_point;

struct ended_span {
  std::string name;
  unsigned trace, parent;
  time_point begin, end;
};

/// Collects the spans, which end on any thread.
class exporter {
 public:
  void add(unsigned id, ended_span ended) {
    const std::lock_guard lock(mutex_);
    spans_.emplace(id, std::move(ended));
  }
  void print(unsigned parent = 0, const std::string& indent = {}) const {
    for (const auto& [id, each] : spans_) {
      if (each.parent != parent) continue;
      std::printf("%s%s, trace %u\n", indent.c_str(), each.name.c_str(), each.trace);
      if (parent != 0 && (each.begin < spans_.at(parent).begin || each.end > spans_.at(parent).end))
        std::puts("it is not within its parent");
      print(id, indent + "  ");
    }
  }

 private:
  std::mutex mutex_;
  std::map<unsigned, ended_span> spans_;
} exported;

/// What a request passes on to everything that it awaits; a call to another server would send it along.
struct trace_context {
  unsigned trace = 0, span = 0;
};
const coracle::task_local<trace_context> context{trace_context{}};

class open_span {
 public:
  open_span(std::string name, const trace_context& around) : name_(std::move(name)), parent_(around.span) {
    static std::atomic<unsigned> last{0};
    here_.span = ++last;
    here_.trace = around.trace != 0 ? around.trace : here_.span;
  }
  open_span(const open_span&) = delete;
  open_span& operator=(const open_span&) = delete;
  ~open_span() {
    exported.add(here_.span,
                 {std::move(name_), here_.trace, parent_, begin_, std::chrono::steady_clock::now()});
  }
  [[nodiscard]] const trace_context& here() const noexcept { return here_; }

 private:
  std::string name_;
  trace_context here_;
  const unsigned parent_;
  const time_point begin_ = std::chrono::steady_clock::now();
};

/// Awaits `work` in a span of its own, below the span around it.
template <class T>
coracle::task<T> traced(std::string name, coracle::task<T> work) {
  const open_span span(std::move(name), co_await context.value());
  co_return co_await coracle::with_value(std::move(work), context, span.here());
}

coracle::task<int> query(int price) {
  co_await coracle::sleep_for(1ms);
  co_return price;
}
coracle::task<int> price_of(coracle::static_thread_pool& pool, int price) {
  co_await pool.schedule();
  co_return co_await traced("query", query(price));
}
coracle::task<int> serve(coracle::static_thread_pool& pool) {
  const auto [tea, milk] = co_await coracle::when_all(traced("price of tea", price_of(pool, 3)),
                                                      traced("price of milk", price_of(pool, 1)));
  co_return tea + milk;
}

int main() {
  coracle::static_thread_pool pool(2);
  std::printf("both: %d\n", coracle::sync_wait(traced("serve", serve(pool))));
  exported.print();
}

// Output:
//   both: 4
//   serve, trace 1
//     price of tea, trace 1
//       query, trace 1
//     price of milk, trace 1
//       query, trace 1
