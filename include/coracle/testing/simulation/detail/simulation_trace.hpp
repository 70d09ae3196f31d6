// coracle/testing/simulation/detail/simulation_trace.hpp -- the trace and trace hash of a simulation.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/testing/virtual_clock.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::detail {
/// Uses malloc, so that tests neither count a simulation's own allocations nor make them fail.
template <class T>
struct uncounted_allocator {
  using value_type = T;
  uncounted_allocator() noexcept = default;
  template <class U>
  uncounted_allocator(const uncounted_allocator<U>&) noexcept {}
  T* allocate(std::size_t count) noexcept {
    void* const memory = std::malloc(count * sizeof(T));
    if (!memory) fail("out of memory in a simulation");
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) noexcept { std::free(memory); }
  friend bool operator==(const uncounted_allocator&, const uncounted_allocator&) noexcept { return true; }
};
template <class T>
using uncounted_vector = std::vector<T, uncounted_allocator<T>>;
}  // namespace coracle::detail

namespace coracle::testing {
/// The steps of a simulation. Equal traces have equal hash() values, which depend on no address.
class simulation_trace {
 public:
  enum class event : std::uint8_t { resumed, timer, jump, note };

  /// Remembers the last `lines`.
  explicit simulation_trace(std::size_t lines) : lines_(lines) {}

  /// `cause` is the step that made it ready; none for a jump of the clock.
  void add(event what, virtual_clock::time_point now, std::uint64_t cause,
           std::string_view text = {}) noexcept;
  /// Returns the number of steps so far, which are numbered from 1.
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
  /// Returns the last lines, each terminated by a newline.
  [[nodiscard]] std::string tail() const;

 private:
  struct line {
    event what = event::note;
    virtual_clock::time_point at;
    std::uint64_t step = 0, cause = 0;
    char text[96] = {};
  };

  detail::uncounted_vector<line> lines_;
  std::uint64_t added_ = 0, steps_ = 0, hash_ = 0;
};
}  // namespace coracle::testing
