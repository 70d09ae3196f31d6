// tests/simulation/tree_nodes.hpp -- nodes of trees of coroutines, and what their children must have done.
// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <array>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/environment.hpp>
#include <exception>
#include <string>
#include <type_traits>
#include <vector>

#include "leaves.hpp"
#include "world.hpp"

namespace coracle_test {
/// The position of a node: how many levels may be below it, and the value of `tree_nodes::mark` there.
struct spot {
  int levels, mark;
  [[nodiscard]] spot below() const noexcept { return {levels - 1, mark}; }
};

/// What a child records in the frame of its parent, where a child that continued to run would be detected.
struct record {
  enum state { not_begun, runs, ended, failed, cancelled } now = not_begun;
  int value = 0;
};
using records = std::array<record, 5>;

inline bool is_cancellation(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const coracle::operation_cancelled&) {
    return true;
  } catch (const std::exception&) {  // one of ours, a timeout, or several
    return false;
  }
}

/// What all kinds of nodes have in common.
class tree_nodes {
 public:
  tree_nodes(world& its_world, leaves& its_leaves) : w(its_world), leaves_(its_leaves) {}

  task<int> node(spot here) {
    const counted meanwhile{*this};
    coracle::executor* const home = coracle::current_executor();
    std::exception_ptr error;
    int value = 0;
    try {
      if (here.levels == 0 || --nodes_left < 0 || w.one_in(6)) {
        value = co_await leaf(here);
      } else {
        value = co_await some_family(here.below());
      }
    } catch (...) {
      error = std::current_exception();
    }
    w.expect(coracle::current_executor() == home, "a coroutine goes on where it was");
    const int marked = co_await mark.value();
    w.expect(marked == here.mark, "a value bound further up is seen");
    if (error) std::rethrow_exception(error);
    co_return value;
  }

  world& w;
  int alive = 0;  // coroutines that have begun, and are not destroyed

 protected:
  struct counted {
    explicit counted(tree_nodes& among) noexcept : trees(among) { ++trees.alive; }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted() { --trees.alive; }
    tree_nodes& trees;
  };

  /// A child of a node that returns its value as a T.
  template <class T>
  task<T> child(spot here, record& own) {
    const counted meanwhile{*this};
    const running until_destroyed{own};
    try {
      own.value = co_await node(here);
      own.now = record::ended;
    } catch (const coracle::operation_cancelled&) {
      throw;
    } catch (...) {
      own.now = record::failed;
      throw;
    }
    if constexpr (std::is_same_v<T, std::string>) {
      co_return std::to_string(own.value) + ", and so long that it stands on the heap";
    } else if constexpr (!std::is_void_v<T>) {
      co_return own.value;
    }
  }
  template <class T>
  std::vector<task<T>> some(spot here, records& of) {
    std::vector<task<T>> children;
    for (unsigned i = 0, count = 1 + w.below(5); i != count; ++i) children.push_back(child<T>(here, of[i]));
    return children;
  }
  /// Awaits `family` and then checks the children. If `shows_errors`, no error of a child may be lost.
  task<int> over(task<int> family, const records& of, bool shows_errors) {
    std::exception_ptr error;
    int value = 0;
    try {
      value = co_await std::move(family);
    } catch (...) {
      error = std::current_exception();
    }
    const auto any_is = [&](record::state state) {
      return std::ranges::any_of(of, [state](const record& each) { return each.now == state; });
    };
    w.expect(!any_is(record::runs), "no child runs on");
    if (shows_errors && any_is(record::failed))
      w.expect(error && !is_cancellation(error), "no error is lost");
    if (error) std::rethrow_exception(error);
    co_return value;
  }
  void expect_value(int value, const record& of) {
    w.expect(of.now == record::ended && of.value == value, "a result is its child's");
  }
  void expect_value(const std::string& value, const record& of) { expect_value(std::stoi(value), of); }

  const coracle::task_local<int> mark{0};
  leaves& leaves_;

 private:
  /// A child that a stop request ends may be destroyed where it waits.
  struct running {
    explicit running(record& its_own) noexcept : own(its_own) { own.now = record::runs; }
    running(const running&) = delete;
    running& operator=(const running&) = delete;
    ~running() {
      if (own.now == record::runs) own.now = record::cancelled;
    }
    record& own;
  };

  task<int> leaf(spot here) {
    const counted meanwhile{*this};
    if (w.one_in(16)) drop_unstarted(here);
    co_return co_await leaves_.any();
  }
  void drop_unstarted(spot here) {
    records of;
    [[maybe_unused]] const auto never = node(here);
    auto both = coracle::when_all(child<int>(here, of[0]), child<std::string>(here, of[1]));
    const auto moved = std::move(both);
  }

  /// A node's children, `here`, combined in one way of several.
  virtual task<int> some_family(spot here) = 0;

  int nodes_left = 40;  // so many may have children
};
}  // namespace coracle_test
