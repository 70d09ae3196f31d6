// coracle/base/intrusive_queue.hpp -- a FIFO queue of externally owned nodes.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/base/exchange.hpp>

namespace coracle::detail {
/// Linked through `Node::next`, a pointer to Node or to a base of it. Not synchronised.
template <class Node>
class intrusive_queue {
 public:
  [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }
  /// Returns the oldest node, or null.
  [[nodiscard]] Node* front() const noexcept { return head_; }
  void push(Node& node) noexcept {
    node.next = nullptr;
    if (head_) {
      tail_->next = &node;
    } else {
      head_ = &node;
    }
    tail_ = &node;
  }
  /// Requires: not empty.
  Node& pop() noexcept { return *detail::exchange(head_, static_cast<Node*>(head_->next)); }
  /// Removes `node`, in time linear in the nodes before it. Returns false if it is not in this queue.
  bool remove(const Node& node) noexcept {
    Node* before = nullptr;
    for (Node* each = head_; each; before = each, each = static_cast<Node*>(each->next)) {
      if (each != &node) continue;
      if (tail_ == each) tail_ = before;
      before ? void(before->next = each->next) : void(head_ = static_cast<Node*>(each->next));
      return true;
    }
    return false;
  }
  /// Returns all nodes as a null-terminated chain, oldest first.
  Node* take_all() noexcept { return detail::exchange(head_, nullptr); }

 private:
  plain<Node*> head_ = nullptr;
  plain<Node*> tail_ = nullptr;  // meaningful only while head_ is not null
};
}  // namespace coracle::detail
