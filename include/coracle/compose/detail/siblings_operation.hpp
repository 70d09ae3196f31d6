// coracle/compose/detail/siblings_operation.hpp -- children of a coroutine, each of its own type, from their start to their end.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/functional.hpp>
#include <coracle/compose/detail/child.hpp>
#include <coracle/compose/detail/siblings.hpp>
#include <coracle/core/error_group.hpp>
#include <coracle/core/invoke.hpp>
#include <iterator>
#include <tuple>
#include <vector>

namespace coracle::detail {
/// One of them.
template <class Awaitable>
class sibling : public sibling_base {
 public:
  using result_type = typename child<Awaitable>::result_type;

  explicit sibling(Awaitable&& value) : sibling_base(&over), work_(static_cast<Awaitable&&>(value)) {}
  sibling(sibling&& other) : sibling_base(&over), work_(std::move(other.work_)) {}

  /// Returns false if it completed at once and has not been counted down yet.
  CORACLE_ALWAYS_INLINE() bool start(siblings& all) noexcept {
    promise().together = &all;
    if (work_.start(handle())) return true;
    note_end();
    return false;
  }
  /// Like start(), but returns what the caller must resume; null if it completed at once.
  CORACLE_ALWAYS_INLINE() std::coroutine_handle<> begin(siblings& all) noexcept {
    promise().together = &all;
    const std::coroutine_handle<> target = work_.begin(handle());
    if (!target) note_end();
    return target;
  }
  /// Returns true if it is over without having started.
  bool try_at_once(siblings& all) noexcept {
    if constexpr (child<Awaitable>::can_try) {
      if (!work_.try_at_once()) return false;
      promise().together = &all;
      promise().claims_before_its_end = true;
      note_end();
      return true;
    }
    return false;
  }
  static constexpr bool can_try = child<Awaitable>::can_try;
  child<Awaitable>& get() noexcept { return work_; }
  /// What first_failed() calls it.
  [[nodiscard]] const void* name() const noexcept { return static_cast<const sibling_base*>(this); }

 private:
  CORACLE_TRANSFER_ABI() static void over(sibling_base* self) {
    auto& mine = static_cast<sibling&>(*self);
    siblings& all = *mine.promise().together;
    mine.note_end();
    const std::coroutine_handle<> target = all.after_one();
    CORACLE_RETURN_TO(self, target);
  }
  void note_end() noexcept {
    const auto [together, has_claimed] = promise();
    if (work_.finish() || together->collects()) [[likely]] {
      together->gave_value(*this, has_claimed);
    } else {
      together->gave_none(*this, has_claimed, work_.failure());
    }
  }
  child<Awaitable> work_;
};

/// Refers to one of them that is a task, where not the first to end counts. They share their continuation, to which the
/// task says by itself that it fails; so nothing has to be kept of it but the task.
template <class T>
class task_sibling : public task_child<T, task<T>&> {
 public:
  using task_child<T, task<T>&>::task_child;

  /// As those of sibling.
  CORACLE_ALWAYS_INLINE() bool start(siblings& all) noexcept {
    if (task_child<T, task<T>&>::start(all.continuation_of_tasks())) return true;
    note_end(this->work(), all);
    return false;
  }
  CORACLE_ALWAYS_INLINE() std::coroutine_handle<> begin(siblings& all) noexcept {
    const std::coroutine_handle<> target = task_child<T, task<T>&>::begin(all.continuation_of_tasks());
    if (!target) note_end(this->work(), all);
    return target;
  }
  bool try_at_once(siblings&) noexcept { return false; }
  task_sibling& get() noexcept { return *this; }
  [[nodiscard]] const void* name() noexcept { return this->frame(); }

 private:
  /// Its body had ended before. Takes no `this`, which is then in no memory.
  CORACLE_SAVES_REGISTERS() static void note_end(task<T>& kept, siblings& all) noexcept {
    task_sibling mine{kept};
    if (!mine.finish() && !all.collects()) all.note_failure(mine.name(), mine.failure());
  }
};

template <class Awaitable>
struct joined_sibling {
  using type = sibling<Awaitable>;
};
template <class T>
struct joined_sibling<task<T>> {
  using type = task<T>;
};
/// What is kept of an awaitable where all are waited for.
template <class Awaitable>
using joined_sibling_t = typename joined_sibling<Awaitable>::type;

template <class Awaitable>
sibling<Awaitable>& as_sibling(sibling<Awaitable>& kept) noexcept {
  return kept;
}
template <class T>
task_sibling<T> as_sibling(task<T>& kept) noexcept {
  return task_sibling<T>{kept};
}
template <class Kept>
using result_of_sibling =
    typename std::remove_cvref_t<decltype(as_sibling(std::declval<Kept&>()))>::result_type;

/// A vector of `T` whose memory comes from where that of `Range` does, if this is a vector.
template <class Range, class T>
struct vector_beside {
  using type = std::vector<T>;
  template <class... Content>
  static type make(const Range&, Content... content) {
    return type(content...);
  }
};
template <class Element, class Allocator, class T>
struct vector_beside<std::vector<Element, Allocator>, T> {
  using allocator = typename std::allocator_traits<Allocator>::template rebind_alloc<T>;
  using type = std::vector<T, allocator>;
  template <class... Content>
  static type make(const std::vector<Element, Allocator>& range, Content... content) {
    return type(content..., allocator(range.get_allocator()));
  }
};

/// What `f` gives for each child, for a vector to be made of: that looks at each once, and asks before how many there are.
/// Its own push_back() would keep its end in memory, from one to the next.
template <class F, class Iterator>
class each_result {
 public:
  using iterator_category = std::forward_iterator_tag;
  using difference_type = std::ptrdiff_t;
  using reference = decltype(std::declval<F&>()(as_sibling(*std::declval<Iterator&>())));
  using value_type = reference;
  using pointer = void;

  each_result(F& f, Iterator at) noexcept : f_(&f), at_(at) {}
  reference operator*() const { return (*f_)(as_sibling(*at_)); }
  each_result& operator++() noexcept {
    ++at_;
    return *this;
  }
  each_result operator++(int) noexcept { return each_result(*f_, at_++); }
  friend bool operator==(const each_result& a, const each_result& b) noexcept { return a.at_ == b.at_; }

 private:
  F* f_;
  Iterator at_;
};

/// Starts them in order and suspends until all have ended. `Children` is a tuple or a vector.
template <siblings::rule What, class Children>
class siblings_operation : public siblings {
 public:
  /// The children, if they are in a vector, or what each is made from.
  template <class... Args>
  explicit siblings_operation(std::in_place_t, Args&&... args)
      : siblings(What, &task_is_over, &fork_rest), children_(static_cast<Args&&>(args)...) {}
  /// Requires: not awaited yet.
  siblings_operation(siblings_operation&& other)
      : siblings(What, &task_is_over, &fork_rest), children_(std::move(other.children_)) {}

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  CORACLE_ALWAYS_INLINE() std::coroutine_handle<> await_suspend(
      std::coroutine_handle<Promise> parent) noexcept {
    return start(environment_or_empty(environment_of(parent)), parent);
  }

 private:
  CORACLE_TRANSFER_ABI()
  CORACLE_NOINLINE()
  std::coroutine_handle<> start(const environment& inherited, std::coroutine_handle<> parent) noexcept {
    if (stop_registration::may_be_late(inherited.stop) && is_stopped(inherited)) [[unlikely]]
      return transfer_to(parent);
    if (count() == 0) return go_on_at_once(parent);
    if constexpr (What == rule::any) {
      if (try_at_once()) return go_on_at_once(parent);
    }
    if (What >= rule::any) return start_here(inherited, parent);
    if (!may_fork()) return start_here(inherited, parent);
    begin<What>(count(), inherited, parent);
    return start_one<0>(0, [this] { offer_rest(); });
  }
  /// Where they are not divided among threads.
  CORACLE_TRANSFER_ABI()
  CORACLE_NOINLINE()
  std::coroutine_handle<> start_here(const environment& inherited, std::coroutine_handle<> parent) noexcept {
    begin<What>(count() + 1, inherited, parent);  // one for start_all()
    nested_start nested;
    if (nested.too_deep()) [[unlikely]] {
      start_later(nested, &start_now);
      return std::noop_coroutine();
    }
    return start_all() ? std::noop_coroutine() : after_all_at_once();
  }

 protected:
  static constexpr bool is_range = requires(Children& c) { c.begin(); };

  template <class F>
  void for_each(F f) {
    if constexpr (is_range) {
      for (auto& one : children_) f(as_sibling(one));
    } else {
      std::apply([&f](auto&... each) { (f(as_sibling(each)), ...); }, children_);
    }
  }
  /// `f` of each child, in a tuple or a vector as the children are.
  template <class F>
  auto collect(F f) {
    if constexpr (is_range) {
      using result = decltype(f(as_sibling(*children_.begin())));
      return vector_beside<Children, result>::make(children_, each_result(f, children_.begin()),
                                                   each_result(f, children_.end()));
    } else {
      return std::apply(
          [&f](auto&... each) {
            return std::tuple<decltype(f(as_sibling(each)))...>{f(as_sibling(each))...};
          },
          children_);
    }
  }
  /// The end of the await. Throws all errors, or that they were cancelled, if that is how they ended.
  CORACLE_ALWAYS_INLINE() void throw_failure() {
    leave_subtree();
    if (!all_is_well()) [[unlikely]]
      throw_first_failure();
  }
  Children& children() noexcept { return children_; }

 private:
  [[nodiscard]] std::size_t count() const noexcept {
    if constexpr (is_range) {
      return children_.size();
    } else {
      return std::tuple_size_v<Children>;
    }
  }
  /// True: one of the first is over, which all need not be started for that. It is as if they had been, in order, and
  /// those before it had been stopped.
  bool try_at_once() noexcept {
    bool goes_on = true, found = false;
    for_each([&](auto&& one) {
      goes_on = goes_on && one.can_try && !found;
      if (goes_on) found = one.try_at_once(*this);
    });
    return found;
  }
  template <std::size_t At>
  CORACLE_ALWAYS_INLINE()
  std::coroutine_handle<> begin_child(std::size_t which) noexcept {
    if constexpr (is_range) {
      return as_sibling(children_[which]).begin(*this);
    } else if constexpr (At >= std::tuple_size_v<Children>) {
      return nullptr;
    } else {
      if constexpr (At + 1 != std::tuple_size_v<Children>) {
        if (which != At) return begin_child<At + 1>(which);
      }
      return as_sibling(std::get<At>(children_)).begin(*this);
    }
  }
  static void start_now(basic_callback_frame<nothing>* late) {
    auto& mine = static_cast<siblings_operation&>(static_cast<start_frame&>(*late));
    if (!mine.start_all()) mine.continue_parent();
  }
  CORACLE_TRANSFER_ABI() static void fork_rest(basic_callback_frame<nothing>* starter) {
    auto& mine = static_cast<siblings_operation&>(static_cast<start_frame&>(*starter));
    mine.starts_beside_another();
    const std::coroutine_handle<> target = mine.start_next([&] { mine.offer_rest(); });
    CORACLE_RETURN_TO(starter, target);
  }
  /// As siblings::after_one() and what that has resumed.
  CORACLE_TRANSFER_ABI() static void task_is_over(basic_callback_frame<shared_promise>* self) {
    auto& mine = static_cast<siblings_operation&>(static_cast<shared_frame&>(*self));
    std::coroutine_handle<> target;
    if (mine.is_last()) {
      target = mine.transfer_to_parent();
    } else if (mine.is_elsewhere()) {
      target = mine.after_one_of_several();
    } else if (const std::size_t rest_was = mine.taken_back_fast(); rest_was != fork_queue::nowhere)
        [[likely]] {
      target = mine.start_next([rest_was] { this_thread().forks->push_again(rest_was); });
    } else {
      target = mine.after_one_not_last();
    }
    CORACLE_RETURN_TO(self, target);
  }
  /// Not for the first.
  template <class Offer>
  CORACLE_TRANSFER_ABI()
  CORACLE_ALWAYS_INLINE() std::coroutine_handle<> start_next(Offer offer) noexcept {
    const std::size_t which = next_;
    if (too_late<What>()) [[unlikely]]
      return leave_out(count());
    return start_one<1>(which, offer);
  }
  /// Starts one that is not before `First`, and gives what is to be resumed. What starts the one after that waits in the
  /// thread's queue, for this thread, or another one, to take it. Whoever has it owns apart_ and next_.
  template <std::size_t First, class Offer>
  CORACLE_TRANSFER_ABI()
  CORACLE_ALWAYS_INLINE() std::coroutine_handle<> start_one(std::size_t which, Offer offer) noexcept {
    if (which + 1 != count() && (First + 1 != count() || is_range)) [[likely]] {
      next_ = which + 1;
      offer();
    } else {
      offer_nothing_more(count());
    }
    const std::coroutine_handle<> target = begin_child<First>(which);
    return target ? target : after_none();
  }
  /// Returns false if all have ended.
  bool start_all() noexcept {
    begin_starting();
    for_each([this](auto&& one) {
      if (too_late<What>() || !one.start(*this)) over_while_starting();
    });
    return end_starting(count());
  }
  CORACLE_COLD() void throw_first_failure() {
    if (fails()) throw_errors();
    if (const stop_reason why = cancelled(); why != stop_reason::none) throw_cancelled(why);
  }
  [[noreturn]] void throw_errors() {
    std::exception_ptr first;
    for_each([&](auto&& one) {
      if (one.name() == first_failed()) first = one.get().error();
    });
    throw_together(std::move(first), failures(), [this](std::vector<std::exception_ptr>& errors) {
      for_each([&](auto&& one) {
        if (one.name() == first_failed()) return;
        if (std::exception_ptr error = one.get().error()) errors.push_back(std::move(error));
      });
    });
  }
  Children children_;
  plain<std::size_t> next_;  // to be started, where they are divided
};

/// What stands for a child's result in a tuple, a vector or a variant.
template <class T>
using element_t = std::conditional_t<
    std::is_void_v<T>, void_value,
    std::conditional_t<std::is_reference_v<T>, std::reference_wrapper<std::remove_reference_t<T>>, T>>;

template <class Sibling>
auto element_of([[maybe_unused]] Sibling&& ended)
    -> element_t<typename std::remove_cvref_t<Sibling>::result_type> {
  using result_type = typename std::remove_cvref_t<Sibling>::result_type;
  if constexpr (std::is_void_v<result_type>) {
    return {};
  } else if constexpr (std::is_rvalue_reference_v<result_type>) {
    auto&& referred = ended.get().result();
    return std::reference_wrapper(referred);
  } else {
    return ended.get().result();
  }
}

// A named range is copied, so its elements must allow that; tasks do not.
template <class Range>
concept awaitable_range = requires(std::remove_cvref_t<Range>& range) {
  { std::move(*std::begin(range)) } -> awaitable;
  std::end(range);
  requires !std::is_lvalue_reference_v<Range> ||
               std::copy_constructible<std::remove_cvref_t<decltype(*std::begin(range))>>;
};

template <template <class> class Sibling, class Range>
auto siblings_from_range(Range range) {
  using beside = vector_beside<Range, Sibling<std::remove_cvref_t<decltype(*std::begin(range))>>>;
  if constexpr (std::is_same_v<Range, typename beside::type>) {
    return range;
  } else {
    auto each_kept = beside::make(range);
    if constexpr (requires { range.size(); }) each_kept.reserve(range.size());
    for (auto&& each : range) each_kept.emplace_back(std::move(each));
    return each_kept;
  }
}
}  // namespace coracle::detail
