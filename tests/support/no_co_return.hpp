// tests/support/no_co_return.hpp -- coroutines of each type that flow off their end without a result.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/meeting_promise.hpp>
#include <coracle/core/promise_parts.hpp>
#include <coracle/core/shared_task.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/utility/expected_coroutine.hpp>
#include <coracle/utility/optional_coroutine.hpp>
#include <cppcoro/task.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "abort_message.hpp"

#if defined(__clang__)  // which warns about what g++ 12 does not
#pragma clang diagnostic ignored "-Wreturn-type"
#endif

namespace coracle_test {
/// Starts at the call; its result is never taken.
template <class Result, class End>
class eager {
 public:
  struct promise_type : coracle::part::starts_eagerly,
                        Result,
                        End,
                        coracle::part::awaits_anything,
                        coracle::recycled_frames {
    eager get_return_object() noexcept { return eager{*this}; }
  };
  eager(const eager&) = delete;
  eager& operator=(const eager&) = delete;
  ~eager() { body_.destroy(); }

 private:
  explicit eager(promise_type& promise) noexcept
      : body_(std::coroutine_handle<promise_type>::from_promise(promise)) {}
  std::coroutine_handle<> body_;
};
using eager_that_stays = eager<coracle::part::returns<int>, coracle::part::stays_at_end>;
using eager_that_meets = eager<coracle::part::returns<int>, coracle::part::meets_parent>;

template <class Coroutine>
Coroutine number(bool returns) {
  if (returns) co_return 1;
}
inline coracle::task<std::string> text(bool returns) {
  if (returns) co_return "";
}
inline coracle::task<const int&> reference(bool returns) {
  static const int referred = 1;
  if (returns) co_return referred;
}
inline coracle::task<int> catches_its_error(bool returns) {
  if (returns) co_return 1;
  try {
    throw 1;
  } catch (int) {
  }
}

struct no_co_return {
  const char* function;  // as the message names it
  void (*run)(bool returns);
};
inline constexpr no_co_return coroutines_without_co_return[] = {
    {"number", [](bool returns) { coracle::sync_wait(number<coracle::task<int>>(returns)); }},
    {"text", [](bool returns) { coracle::sync_wait(text(returns)); }},
    {"reference", [](bool returns) { coracle::sync_wait(reference(returns)); }},
    {"catches_its_error", [](bool returns) { coracle::sync_wait(catches_its_error(returns)); }},
    {"number", [](bool returns) { coracle::sync_wait(number<coracle::task<int>>(returns).when_ready()); }},
    {"number", [](bool returns) { coracle::sync_wait(number<coracle::shared_task<int>>(returns)); }},
    {"number", [](bool returns) { coracle::sync_wait(number<cppcoro::task<int>>(returns)); }},
    {"number", [](bool returns) { number<eager_that_stays>(returns); }},
    {"number", [](bool returns) { number<eager_that_meets>(returns); }},
    {"number", [](bool returns) { static_cast<void>(number<std::optional<int>>(returns)); }},
    {"number", [](bool returns) { static_cast<void>(number<coracle::expected<int, char>>(returns)); }},
    {"operator()",
     [](bool returns) {
       const auto body = [](bool ends_well) -> coracle::task<int> {
         if (ends_well) co_return 1;
       };
       coracle::sync_wait(body(returns));
     }},
};

inline bool names(std::string_view said, std::string_view function) {
  constexpr std::string_view opens = "coracle: ";
  if (!said.starts_with(opens)) return false;
  said.remove_prefix(opens.size());
  return said.starts_with(function) && said.substr(function.size()).starts_with("(), ");
}

/// Runs each in a child process. Returns the number of failures.
template <int index = 0>
int wrong_ends() {
  if constexpr (index == std::size(coroutines_without_co_return)) {
    return 0;
  } else {
    constexpr no_co_return tried = coroutines_without_co_return[index];
    tried.run(true);
    const std::string said = abort_message([] { coroutines_without_co_return[index].run(false); });
    const bool names_it = names(said, tried.function) && said.find("no_co_return.hpp:") != said.npos;
    const bool fails = !names_it || said.find(" ended without co_return: ") == said.npos;
    if (fails) std::printf("%d, %s(): %s\n", index, tried.function, said.c_str());
    return fails + wrong_ends<index + 1>();
  }
}
}  // namespace coracle_test
