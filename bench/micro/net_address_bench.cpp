// bench/micro/net_address_bench.cpp -- parsing and printing addresses, compared to the C library's functions.
// SPDX-License-Identifier: MIT
#include <arpa/inet.h>

#include <coracle/net/ip_endpoint.hpp>
#include <string>
#include <string_view>

#include "measure.hpp"

namespace {
using coracle_bench::measure;
constexpr const char* ipv4_text = "192.168.100.23";
constexpr const char* ipv6_text = "2001:db8:85a3::8a2e:370:7334";

template <class Address>
void read(benchmark::State& state, std::string_view text) {
  measure(state, 1'000'000, [text](long n) {
    for (long i = 0; i < n; ++i) benchmark::DoNotOptimize(Address::from_string(text));
  });
}
void floor_read(benchmark::State& state, int family, const char* text) {
  measure(state, 1'000'000, [=](long n) {
    unsigned char bytes[16];
    for (long i = 0; i < n; ++i) {
      benchmark::DoNotOptimize(inet_pton(family, text, bytes));
      benchmark::ClobberMemory();
    }
  });
}
template <class Address>
void write(benchmark::State& state, std::string_view text) {
  const Address address = *Address::from_string(text);
  measure(state, 1'000'000, [&address](long n) {
    for (long i = 0; i < n; ++i) benchmark::DoNotOptimize(address.to_string());
  });
}
void floor_write(benchmark::State& state, int family, const char* text) {
  unsigned char bytes[16];
  inet_pton(family, text, bytes);
  measure(state, 1'000'000, [&](long n) {
    char buffer[INET6_ADDRSTRLEN];
    for (long i = 0; i < n; ++i) {
      benchmark::DoNotOptimize(std::string(inet_ntop(family, bytes, buffer, sizeof buffer)));
    }
  });
}

void ipv4_from_string(benchmark::State& state) { read<coracle::net::ipv4_address>(state, ipv4_text); }
void floor_ipv4_from_string(benchmark::State& state) { floor_read(state, AF_INET, ipv4_text); }
void ipv6_from_string(benchmark::State& state) { read<coracle::net::ipv6_address>(state, ipv6_text); }
void floor_ipv6_from_string(benchmark::State& state) { floor_read(state, AF_INET6, ipv6_text); }
void ipv4_to_string(benchmark::State& state) { write<coracle::net::ipv4_address>(state, ipv4_text); }
void floor_ipv4_to_string(benchmark::State& state) { floor_write(state, AF_INET, ipv4_text); }
void ipv6_to_string(benchmark::State& state) { write<coracle::net::ipv6_address>(state, ipv6_text); }
void floor_ipv6_to_string(benchmark::State& state) { floor_write(state, AF_INET6, ipv6_text); }
void endpoint_from_string(benchmark::State& state) {
  read<coracle::net::ip_endpoint>(state, "[2001:db8:85a3::8a2e:370:7334]:8080");
}
void endpoint_to_string(benchmark::State& state) {
  write<coracle::net::ip_endpoint>(state, "[2001:db8:85a3::8a2e:370:7334]:8080");
}

CORACLE_BENCH(ipv4_from_string);
CORACLE_BENCH(floor_ipv4_from_string);
CORACLE_BENCH(ipv6_from_string);
CORACLE_BENCH(floor_ipv6_from_string);
CORACLE_BENCH(ipv4_to_string);
CORACLE_BENCH(floor_ipv4_to_string);
CORACLE_BENCH(ipv6_to_string);
CORACLE_BENCH(floor_ipv6_to_string);
CORACLE_BENCH(endpoint_from_string);
CORACLE_BENCH(endpoint_to_string);
}  // namespace
