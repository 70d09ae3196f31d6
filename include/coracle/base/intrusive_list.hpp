// coracle/base/intrusive_list.hpp -- a queue of externally owned nodes, any of which can be removed.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/base/exchange.hpp>

namespace coracle::detail {
/// Linked through `Node::next`, a pointer to Node or to a base of it, and `Node::link`, a pointer to the
/// pointer that refers to the node. Not synchronised.
template <class Node>
class intrusive_list {
 public:
  intrusive_list() noexcept = default;
  intrusive_list(const intrusive_list&) = delete;
  intrusive_list& operator=(const intrusive_list&) = delete;

  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  /// Returns the oldest node, or null.
  [[nodiscard]] Node* front() const noexcept { return static_cast<Node*>(first_); }
  void push(Node& node) noexcept {
    node.next = nullptr;
    node.link = end_;
    *end_ = &node;
    end_ = &node.next;
  }
  void push_front(Node& node) noexcept {
    node.next = first_;
    node.link = &first_;
    link_back(static_cast<Node*>(node.next), &node.next);
    first_ = &node;
  }
  /// Requires: not empty.
  Node& pop() noexcept {
    Node& node = *front();
    remove(node);
    return node;
  }
  /// Moves all nodes of `others` behind those of this list.
  void append(intrusive_list& others) noexcept {
    if (others.empty()) return;
    others.front()->link = end_;
    *end_ = others.first_;
    end_ = others.end_;
    static_cast<void>(others.take_all());
  }
  [[nodiscard]] bool ends_with(const Node& node) const noexcept { return end_ == &node.next; }
  /// Requires: `node` is in this list, or in another that does not end with it.
  void remove(Node& node) noexcept {
    pointer* const link = node.link;
    *link = node.next;
    link_back(static_cast<Node*>(node.next), link);
  }
  /// Returns all nodes as a null-terminated chain, oldest first.
  Node* take_all() noexcept {
    end_ = &first_;
    return static_cast<Node*>(detail::exchange(first_, nullptr));
  }

 private:
  using pointer = decltype(Node::next);  // plain<Node*>, or of a base of it

  /// Updates the back link of `node`, or the end of the list if it is null.
  void link_back(Node* node, pointer* link) noexcept {
    if (node) {
      node->link = link;
    } else {
      end_ = link;
    }
  }

  pointer first_ = nullptr;
  plain<pointer*> end_ = &first_;  // the null at the end of the chain
};
}  // namespace coracle::detail
