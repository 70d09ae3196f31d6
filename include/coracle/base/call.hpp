// coracle/base/call.hpp -- std::invoke without <functional>.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/config.hpp>
#include <type_traits>

namespace coracle::detail {
template <class Member, class Class, class Object, class... Args>
CORACLE_CORO_WRAPPER()
CORACLE_ALWAYS_INLINE() constexpr decltype(auto)
    call_member(Member Class::* member, Object&& object, Args&&... args) {
  if constexpr (std::is_base_of_v<Class, std::remove_cvref_t<Object>>) {
    if constexpr (std::is_function_v<Member>) {
      return (static_cast<Object&&>(object).*member)(static_cast<Args&&>(args)...);
    } else {
      return (static_cast<Object&&>(object).*member);
    }
  } else if constexpr (requires {
                         requires std::is_base_of_v<Class, std::remove_cvref_t<decltype(object.get())>>;
                       }) {
    return detail::call_member(member, object.get(), static_cast<Args&&>(args)...);  // std::reference_wrapper
  } else {
    return detail::call_member(member, *static_cast<Object&&>(object), static_cast<Args&&>(args)...);
  }
}
/// As std::invoke, which under CORACLE_ENABLE_LIFETIME_CHECKS may not return a task (ADR 5).
template <class F, class... Args>
CORACLE_CORO_WRAPPER()
CORACLE_ALWAYS_INLINE() constexpr std::invoke_result_t<F, Args...> call(F&& f, Args&&... args) {
  if constexpr (!std::is_member_pointer_v<std::remove_cvref_t<F>>) {
    return static_cast<F&&>(f)(static_cast<Args&&>(args)...);
  } else {
    return detail::call_member(f, static_cast<Args&&>(args)...);
  }
}
}  // namespace coracle::detail
