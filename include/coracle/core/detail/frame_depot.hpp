// coracle/core/detail/frame_depot.hpp -- free frames for a thread other than the one that has freed them.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/builtin_atomic.hpp>
#include <coracle/base/tagged_pointer.hpp>
#include <cstddef>
#include <cstdint>

namespace coracle::detail {
/// The length of a list in the depot, on a scale of powers of two; 0: there is no list.
enum class list_length : std::uintptr_t { none = 0, mask = 7 };

inline constexpr std::size_t depot_budget = 16 * 1024 * 1024;  ///< bytes, of all lists in a depot
inline constexpr std::size_t least_left = 256 * 1024;  ///< a list with fewer bytes stays with its thread
constexpr list_length length_of(std::size_t bytes) noexcept {
  const std::size_t units = bytes / least_left, longest = static_cast<std::size_t>(list_length::mask);
  const std::size_t length = units == 0 ? 0 : static_cast<std::size_t>(64 - __builtin_clzll(units));
  return static_cast<list_length>(length < longest ? length : longest);
}
static_assert(length_of(depot_budget / 2) < length_of(depot_budget),
              "the scale reaches as far as the budget");

/// Holds at most one list of free frames of each size. A thread that frees frames allocated by another thread
/// leaves its lists here; a thread that has run out of a size takes the whole list. Either is one exchange:
/// no thread waits, and none reads a list that it does not own. `Link` is both the head of a list and the
/// link in each of its frames: the frame below, and in `room()` the number of frames from this one to the
/// end.
//
// Each place is a word: the first frame of its list, and the length. The thread that takes the word out owns
// the list.
//   [D1] leave or take  acq_rel  publishes the links of a list left, sees those of one taken  pairs with D1
//   [D2] load           relaxed  whether D1 pays: D1 returns what is there by then. Or for first(), which
//                                promises nothing about the frame
//   [D3] bytes          relaxed  a sum that orders nothing. It grows before a list is left and shrinks after
//                                one is taken, so it is never less than what the lists hold
template <class Link, std::size_t Sizes>
class frame_depot {
 public:
  /// Leaves `list` if it is worth an exchange, that is, if it is longer than the list here by a power of two.
  /// Returns the list that the thread keeps.
  [[nodiscard]] Link leave(std::size_t size, Link list, std::size_t frame_bytes) noexcept {
    const std::size_t bytes = list.room() * frame_bytes;
    const list_length length = length_of(bytes);
    if (length <= length_at(size)) [[likely]]
      return list;
    if (bytes_.add_relaxed(bytes) > depot_budget) { /*D3*/
      bytes_.subtract_relaxed(bytes);               /*D3*/
      return list;
    }
    return exchange(size, place(list.below(), length), frame_bytes);
  }
  /// Returns the list held here, or an empty one.
  [[nodiscard]] Link take(std::size_t size, std::size_t frame_bytes) noexcept {
    return length_at(size) == list_length::none ? Link{} : exchange(size, list_length::none, frame_bytes);
  }
  /// Returns the first frame of the list held here, or null. Another thread may take it, and use it, at any
  /// moment.
  [[nodiscard]] const Link* first(std::size_t size) const noexcept { return place_at(size).pointer(); }
  /// Returns at least the number of bytes in the lists here.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_.load_relaxed(); } /*D3*/

 private:
  using place = tagged_pointer<Link, list_length>;

  [[nodiscard]] place place_at(std::size_t size) const noexcept {
    return place::from_bits(places_[size].load_relaxed()); /*D2*/
  }
  [[nodiscard]] list_length length_at(std::size_t size) const noexcept { return place_at(size).tag(); }
  Link exchange(std::size_t size, place left, std::size_t frame_bytes) noexcept {
    Link* const first = place::from_bits(places_[size].exchange_acq_rel(left.bits())).pointer(); /*D1*/
    if (!first) return {};
    const Link taken{first, first->room() + 1};
    bytes_.subtract_relaxed(taken.room() * frame_bytes); /*D3*/
    return taken;
  }

  builtin_atomic<std::uintptr_t> places_[Sizes];
  builtin_atomic<std::size_t> bytes_;
};
}  // namespace coracle::detail
