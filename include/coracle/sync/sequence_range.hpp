// coracle/sync/sequence_range.hpp -- consecutive sequence numbers.
// SPDX-License-Identifier: MIT
#pragma once
#include <compare>
#include <coracle/sync/sequence_traits.hpp>
#include <iterator>

namespace coracle {
/// The sequence numbers from `begin` up to, not including, `end`; they may wrap around.
///
///     for (std::size_t number : co_await sequencer.claim_up_to(10)) ring[number % size] = next();
///
/// Cost  two numbers; nothing of it is stored elsewhere.
template <std::integral Sequence, class Traits = sequence_traits<Sequence>>
class sequence_range {
 public:
  using value_type = Sequence;
  using difference_type = typename Traits::difference_type;
  using size_type = typename Traits::size_type;
  class const_iterator;
  using iterator = const_iterator;

  constexpr sequence_range() noexcept = default;
  constexpr sequence_range(Sequence begin, Sequence end) noexcept : begin_(begin), end_(end) {}

  constexpr const_iterator begin() const noexcept { return const_iterator{begin_}; }
  constexpr const_iterator end() const noexcept { return const_iterator{end_}; }
  constexpr bool empty() const noexcept { return begin_ == end_; }
  constexpr size_type size() const noexcept {
    return static_cast<size_type>(Traits::difference(end_, begin_));
  }
  constexpr Sequence front() const noexcept { return begin_; }
  constexpr Sequence back() const noexcept { return detail::earlier_by(end_, 1); }
  constexpr Sequence operator[](size_type index) const noexcept { return detail::later_by(begin_, index); }

  /// The first `count`, or all if there are fewer.
  constexpr sequence_range first(size_type count) const noexcept {
    return count < size() ? sequence_range{begin_, (*this)[count]} : *this;
  }
  /// All but the first `count`; none if there are fewer.
  constexpr sequence_range skip(size_type count) const noexcept {
    return count < size() ? sequence_range{(*this)[count], end_} : sequence_range{end_, end_};
  }
  friend constexpr bool operator==(const sequence_range&, const sequence_range&) = default;

 private:
  Sequence begin_{}, end_{};
};

/// Computes its numbers, so it returns them by value: a C++20 random access iterator.
template <std::integral Sequence, class Traits>
class sequence_range<Sequence, Traits>::const_iterator {
 public:
  using iterator_concept = std::random_access_iterator_tag;
  using iterator_category = std::input_iterator_tag;
  using value_type = Sequence;
  using difference_type = typename Traits::difference_type;
  using reference = Sequence;
  using pointer = void;

  constexpr const_iterator() noexcept = default;
  explicit constexpr const_iterator(Sequence number) noexcept : number_(number) {}

  constexpr Sequence operator*() const noexcept { return number_; }
  constexpr Sequence operator[](difference_type n) const noexcept { return *(*this + n); }
  constexpr const_iterator& operator+=(difference_type n) noexcept {
    number_ = detail::later_by(number_, static_cast<std::uint64_t>(n));
    return *this;
  }
  constexpr const_iterator& operator-=(difference_type n) noexcept {
    number_ = detail::earlier_by(number_, static_cast<std::uint64_t>(n));
    return *this;
  }
  constexpr const_iterator& operator++() noexcept { return *this += 1; }
  constexpr const_iterator& operator--() noexcept { return *this -= 1; }
  constexpr const_iterator operator++(int) noexcept {
    const const_iterator before = *this;
    ++*this;
    return before;
  }
  constexpr const_iterator operator--(int) noexcept {
    const const_iterator before = *this;
    --*this;
    return before;
  }
  friend constexpr const_iterator operator+(const_iterator it, difference_type n) noexcept { return it += n; }
  friend constexpr const_iterator operator+(difference_type n, const_iterator it) noexcept { return it += n; }
  friend constexpr const_iterator operator-(const_iterator it, difference_type n) noexcept { return it -= n; }
  friend constexpr difference_type operator-(const_iterator a, const_iterator b) noexcept {
    return Traits::difference(a.number_, b.number_);
  }
  friend constexpr bool operator==(const_iterator, const_iterator) = default;
  friend constexpr auto operator<=>(const_iterator a, const_iterator b) noexcept {
    return Traits::difference(a.number_, b.number_) <=> 0;
  }

 private:
  Sequence number_{};
};
}  // namespace coracle
