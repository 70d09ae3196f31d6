// SPDX-License-Identifier: MIT
#include <algorithm>
#include <coracle/testing/simulation/detail/random_source.hpp>
#include <coracle/testing/simulation/detail/simulation_trace.hpp>
#include <cstdio>
#include <cstring>

namespace coracle::testing {
namespace {
std::uint64_t hash_of(std::string_view text) noexcept {
  std::uint64_t hash = text.size();
  for (const char each : text) hash = random_source::mix(hash ^ static_cast<unsigned char>(each));
  return hash;
}
}  // namespace

void simulation_trace::add(event what, virtual_clock::time_point now, std::uint64_t cause,
                           std::string_view text) noexcept {
  const auto at = static_cast<std::uint64_t>(now.time_since_epoch().count());
  if (what == event::resumed || what == event::timer) ++steps_;
  hash_ = random_source::mix(hash_ + at);
  hash_ = random_source::mix(hash_ + cause * 4 + static_cast<std::uint64_t>(what));
  if (!text.empty()) hash_ = random_source::mix(hash_ + hash_of(text));
  const std::uint64_t number = added_++;
  if (lines_.empty()) return;
  line& here = lines_[number % lines_.size()];
  here.what = what;
  here.at = now;
  here.step = steps_;
  here.cause = cause;
  const std::size_t size = std::min(text.size(), sizeof here.text - 1);
  if (size != 0) std::memcpy(here.text, text.data(), size);
  here.text[size] = '\0';
}

std::string simulation_trace::tail() const {
  const std::uint64_t count = std::min<std::uint64_t>(added_, lines_.size());
  std::string all;
  for (std::uint64_t i = added_ - count; i != added_; ++i) {
    const line& each = lines_[i % lines_.size()];
    const double ms = std::chrono::duration<double, std::milli>(each.at - virtual_clock::start).count();
    char text[192];
    const auto step = static_cast<unsigned long long>(each.step);
    const auto cause = static_cast<unsigned long long>(each.cause);
    switch (each.what) {
      case event::resumed:
        std::snprintf(text, sizeof text, "%12.6f ms  step %llu: goes on after step %llu\n", ms, step, cause);
        break;
      case event::timer:
        std::snprintf(text, sizeof text, "%12.6f ms  step %llu: a timer fires\n", ms, step);
        break;
      case event::jump:
        std::snprintf(text, sizeof text, "%12.6f ms  the clock has jumped\n", ms);
        break;
      case event::note:
        std::snprintf(text, sizeof text, "%12.6f ms      %s\n", ms, each.text);
        break;
    }
    all += text;
  }
  return all;
}
}  // namespace coracle::testing
