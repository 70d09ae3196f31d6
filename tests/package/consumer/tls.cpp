#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/tls/context.hpp>
#include <coracle/tls/stream.hpp>
#include <cstdio>

/// A connection that has ended before it began.
struct nothing {
  coracle::task<std::size_t> read_some(std::span<std::byte>, coracle::stop_token) {
    co_return std::size_t{0};
  }
  coracle::task<std::size_t> write_some(std::span<const std::byte> bytes, coracle::stop_token) {
    co_return bytes.size();
  }
};

coracle::task<int> answer() {
  const auto common = coracle::tls::context::client();
  coracle::tls::stream secure{nothing{}, common, "example.org"};
  try {
    co_await secure.handshake();
  } catch (const coracle::tls::error& failed) {
    co_return failed.code() == coracle::tls::errc::truncated ? 42 : 0;
  }
  co_return 1;
}

int main() { std::printf("%d\n", coracle::sync_wait(answer())); }
