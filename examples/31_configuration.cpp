// examples/31_configuration.cpp -- settings that are reloaded every second: their users wait for work and for
// the next change at the same time.
// SPDX-License-Identifier: MIT
#include <coracle/coracle.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
#include <cstdio>
#include <string>
#include <utility>
#include <variant>

using namespace std::chrono_literals;

struct settings {
  std::string greeting;
  bool operator==(const settings&) const = default;
};
using guests = coracle::channel<std::string>;

/// Stands in for a file that is edited after two and a half seconds.
class settings_file {
 public:
  [[nodiscard]] settings read() const {
    return {coracle::steady_now() - begin_ < 2500ms ? "Hello" : "Good evening"};
  }

 private:
  std::chrono::steady_clock::time_point begin_ = coracle::steady_now();
};

/// Sets only changed values, to avoid spurious wake-ups. Ends when it is stopped.
coracle::task<> reload(const settings_file& file, coracle::watched_value<settings>& current) {
  coracle::interval seconds{1s};
  for (;;) {
    co_await seconds.tick();
    settings fresh = file.read();
    if (fresh != *current.get()) current.set(std::move(fresh));
  }
}

coracle::task<> greet(guests& arriving, coracle::value_observer<settings> observed) {
  auto current = observed.get();  // unchanged as long as this is kept
  for (;;) {
    // If both are ready the first branch wins: a change is seen before the next guest.
    auto next = co_await coracle::select(observed.changed(), arriving.recv());
    if (next.index() == 0) {
      current = std::get<0>(next);
      std::printf("(from now on: %s)\n", current->greeting.c_str());
    } else if (const auto& guest = std::get<1>(next)) {
      std::printf("%s, %s!\n", current->greeting.c_str(), guest->c_str());
    } else {
      co_return;  // the channel is closed
    }
  }
}

coracle::task<> arrive(guests& arriving) {
  for (const char* const name : {"Ada", "Barbara", "Edsger", "Grace"}) {
    co_await arriving.send(name);
    co_await coracle::sleep_for(1100ms);
  }
  arriving.close();
}

coracle::task<> party() {
  const settings_file file;
  coracle::watched_value<settings> current{file.read()};
  guests arriving{1};
  auto work = coracle::when_all(greet(arriving, current.observe()), arrive(arriving));
  co_await coracle::when_any(std::move(work), reload(file, current));  // the first to end stops the other
}

int main() {
  coracle::testing::virtual_time_loop loop;
  loop.run(party());
}

// Output:
//   Hello, Ada!
//   Hello, Barbara!
//   Hello, Edsger!
//   (from now on: Good evening)
//   Good evening, Grace!
