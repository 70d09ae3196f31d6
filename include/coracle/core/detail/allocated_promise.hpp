// coracle/core/detail/allocated_promise.hpp -- frames from the caller's allocator.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/allocator_arg.hpp>
#include <coracle/core/frame_memory.hpp>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace coracle::detail {
template <class Allocator, class T>
concept has_rebind = requires { typename Allocator::template rebind<T>::other; };
/// Replaces an allocator in an ill-formed program, so that the only error is the static_assert.
template <class T>
struct any_allocator {
  template <class Given>
  any_allocator(const Given&) noexcept;
  T* allocate(std::size_t);
  void deallocate(T*, std::size_t) noexcept;
};
template <class Allocator, class T>
struct rebound {
  using type = any_allocator<T>;
};
template <class Allocator, class T>
  requires has_rebind<Allocator, T>
struct rebound<Allocator, T> {
  using type = typename Allocator::template rebind<T>::other;
};
template <template <class, class...> class Allocator, class U, class... Rest, class T>
  requires(!has_rebind<Allocator<U, Rest...>, T>)
struct rebound<Allocator<U, Rest...>, T> {
  using type = Allocator<T, Rest...>;
};

template <class T>
concept is_allocator_arg = std::is_same_v<std::remove_cvref_t<T>, std::allocator_arg_t>;
/// The allocator that follows std::allocator_arg among the parameters of a coroutine: first, or after the
/// object.
template <class... Params>
struct given_allocator {};
template <is_allocator_arg Arg, class Allocator, class... Params>
struct given_allocator<Arg, Allocator, Params...> : std::type_identity<std::remove_cvref_t<Allocator>> {};
template <class This, is_allocator_arg Arg, class Allocator, class... Params>
  requires(!is_allocator_arg<This>)
struct given_allocator<This, Arg, Allocator, Params...> : std::type_identity<std::remove_cvref_t<Allocator>> {
};
template <is_allocator_arg Arg, class... Params>
struct given_allocator<Arg, recycled_frames, Params...> {};

/// Allocates from a std::pmr::memory_resource, without including its header.
template <class Resource, class T>
struct resource_allocator {
  Resource* resource;

  T* allocate(std::size_t count) {
    return static_cast<T*>(resource->allocate(count * sizeof(T), alignof(T)));
  }
  void deallocate(T* memory, std::size_t count) noexcept {
    resource->deallocate(memory, count * sizeof(T), alignof(T));
  }
};
template <class Resource, class T>
struct rebound<Resource*, T> {
  using type = resource_allocator<Resource, T>;
};

/// `Promise` with frames allocated by a copy of `Allocator`, which is stored behind the frame until that is
/// freed; with void, by the recycler.
template <class Promise, class Allocator>
struct allocated_promise : Promise {
  using Promise::Promise;

  static void* operator new(std::size_t size)
    requires std::is_default_constructible_v<Allocator>
  {
    return allocate(size, Allocator());
  }
  // Always inlined: otherwise g++ warns that a placement form of new meets a plain delete.
  template <class Given, class... Args>
  CORACLE_ALWAYS_INLINE()
  static void* operator new(std::size_t size, std::allocator_arg_t, const Given& given, const Args&...) {
    return allocate_from(given, size);
  }
  template <class This, class Given, class... Args>
  CORACLE_ALWAYS_INLINE()
  static void* operator new(std::size_t size, const This&, std::allocator_arg_t, const Given& given,
                            const Args&...) {
    return allocate_from(given, size);
  }
  static void operator delete(void* frame, std::size_t size) noexcept {
    if (!keeps_frame(frame, size, &give_back)) give_back(frame, size);
  }

 private:
  static void give_back(void* frame, std::size_t size) noexcept {
    auto* const kept = static_cast<unit_allocator*>(behind(frame, size));
    unit_allocator allocator(std::move(*kept));
    kept->~unit_allocator();
    allocator.deallocate(static_cast<unit*>(frame), units(size));
  }

  struct alignas(std::max_align_t) unit {
    std::byte bytes[alignof(std::max_align_t)];
  };
  using unit_allocator = typename rebound<Allocator, unit>::type;
  static_assert(
      !std::is_same_v<unit_allocator, any_allocator<unit>>,
      "the parameter after std::allocator_arg is not an allocator: a coroutine takes an allocator there, or "
      "a pointer to a memory resource");
  static_assert(std::is_same_v<decltype(std::declval<unit_allocator&>().allocate(1)), unit*>,
                "a coroutine frame needs an allocator whose pointers are plain pointers");
  static_assert(alignof(unit_allocator) <= alignof(unit), "the allocator itself is over-aligned");

  static constexpr std::size_t kept_at(std::size_t size) noexcept {
    return (size + alignof(unit_allocator) - 1) / alignof(unit_allocator) * alignof(unit_allocator);
  }
  static void* behind(void* frame, std::size_t size) noexcept {
    return static_cast<std::byte*>(frame) + kept_at(size);
  }
  static constexpr std::size_t units(std::size_t size) noexcept {
    return (kept_at(size) + sizeof(unit_allocator) + sizeof(unit) - 1) / sizeof(unit);
  }
  template <class Given>
  CORACLE_ALWAYS_INLINE()
  static void* allocate_from(const Given& given, std::size_t size) {
    constexpr bool converts = std::is_convertible_v<const Given&, Allocator>;
    static_assert(
        converts,
        "what stands behind std::allocator_arg does not convert to the allocator of this coroutine");
    if constexpr (converts) {
      return allocate(size, given);
    } else {
      return nullptr;
    }
  }
  // Never inlined: otherwise g++ at -O1 with ASan sees the plain delete meet the allocator, and warns.
  CORACLE_NOINLINE() static void* allocate(std::size_t size, const Allocator& given) {
    unit_allocator allocator(given);
    unit* const frame = allocator.allocate(units(size));
    ::new (behind(frame, size)) unit_allocator(std::move(allocator));
    return frame;
  }
};
template <class Promise>
struct allocated_promise<Promise, void> : Promise, recycled_frames {};
}  // namespace coracle::detail
