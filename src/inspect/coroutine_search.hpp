// SPDX-License-Identifier: MIT
// Every coroutine of a process, and what each waits for (ADR 36, ADR 39). Reports are views of it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "awaits.hpp"

namespace coracle::detail {
/// What a coroutine waits for.
struct coroutine_wait {
  std::string operation;      ///< as `async_mutex::lock_operation`
  std::uintptr_t object = 0;  ///< 0 if it is not known
};

/// What is in a channel<T>.
struct channel_fill {
  std::uintptr_t elements = 0;
  std::uintptr_t capacity = 0;
};

/// Returns the operation of a function whose role is `stop`; empty if the name tells none.
[[nodiscard]] std::string operation_of(const char* symbol);
/// Returns `waits to lock async_mutex`.
[[nodiscard]] std::string text_of_operation(std::string_view operation);

/// What a coroutine awaits in an I/O operation, or in an operation inside of another, as of a when_any(). Not
/// known to be what it needs to go on.
struct other_wait {
  const char* through = nullptr;  ///< as `when_any()`; null if nothing is in between
  std::string text;               ///< as `waits for I/O on descriptor 5`, or `waits for async_latch`
  std::uintptr_t object = 0;      ///< its address; 0 if it is unknown or there is none
};

struct live_coroutine {
  std::uintptr_t frame = 0;
  std::uintptr_t function = 0;  ///< resumes it
  continuation next{};
  std::vector<const live_coroutine*> children{};
  std::unique_ptr<coroutine_wait> waits{};
  std::vector<other_wait> other_waits{};
};

/// Searches the memory of the process: one that this program is, or a copy of it.
class coroutine_search {
 public:
  using coroutines = std::vector<const live_coroutine*>;

  /// Of more than `most_linked` coroutines only the functions are known. `stack` is an address on the stack
  /// of this thread: what is below it is not searched, since it is of the search, or left of earlier calls.
  coroutine_search(symbols& names, const process_memory& memory, std::size_t most_linked, const void* stack);

  /// Returns why coroutines cannot be found in this program, or null.
  [[nodiscard]] static const char* refusal(const symbols& names) noexcept;

  /// In the order of their addresses.
  [[nodiscard]] const std::vector<live_coroutine>& all() const noexcept { return found_; }
  [[nodiscard]] bool is_linked() const noexcept { return is_linked_; }
  [[nodiscard]] std::map<std::string, std::size_t> counts_by_function() const;
  /// Returns the number of frames of each size, in bytes.
  [[nodiscard]] std::map<std::size_t, std::size_t> counts_by_size() const;

  /// Returns null if no coroutine that is known awaits it.
  [[nodiscard]] const live_coroutine* parent_of(const live_coroutine& each) const {
    return find(each.next.parent);
  }
  [[nodiscard]] std::string name_of(const live_coroutine& each) const;
  /// Returns the function that resumes it.
  [[nodiscard]] function_symbol function_of(const live_coroutine& each) const {
    return names_.at(each.function);
  }
  /// Returns an unsigned integer of at most 8 bytes in its frame; 0 if there is no memory.
  [[nodiscard]] std::uintptr_t number_in(const live_coroutine& each, std::size_t place,
                                         std::size_t size) const noexcept;
  /// Returns text for addr2line, as `server+0x3a10`.
  [[nodiscard]] std::string location_of(const live_coroutine& each) const;
  /// Returns the size of its frame, as the recycler rounds it up. The heap's block may say some more.
  [[nodiscard]] std::size_t bytes_of(const live_coroutine& each) const;
  /// Returns what stands between the coroutine and what awaits it, as `when_all()`; null if nothing does.
  [[nodiscard]] const char* through(const live_coroutine& each) const;

  /// Returns text such as `waits to lock async_mutex savings`.
  [[nodiscard]] std::string text_of(const coroutine_wait& wait) const;
  /// Returns text such as `in when_any(): sleeps, waits for async_latch ready`; empty if there is none.
  [[nodiscard]] std::string text_of_others(const live_coroutine& each) const;
  /// Returns the type of the object, as `async_mutex`.
  [[nodiscard]] static std::string type_of_object(const coroutine_wait& wait);
  /// Returns nothing unless the object is a `channel<T>`.
  [[nodiscard]] std::optional<channel_fill> fill_of(const coroutine_wait& wait) const;
  /// Returns the variable, or where it is; empty if neither is known.
  [[nodiscard]] const std::string& name_of_object(std::uintptr_t object) const;
  /// Returns the coroutines whose frames contain the address of an object for which one waits, without those
  /// that wait for it themselves.
  [[nodiscard]] const coroutines& referring(std::uintptr_t object) const;

 private:
  struct awaited_object {
    std::string name;
    coroutines referring;
  };
  template <class Visit>
  void for_each_word(std::uintptr_t lowest, std::uintptr_t highest, Visit visit) const;
  void find_frames();
  void add_wait(std::uintptr_t node, const char* symbol);
  [[nodiscard]] bool add_await_of_shared(std::uintptr_t node, std::uintptr_t link);
  void add_io(std::uintptr_t operation);
  void add_timer(std::uintptr_t operation);
  void add_callback(std::uintptr_t meeting);
  void add_other_wait(std::uintptr_t awaiter, std::uintptr_t waiting, std::string text,
                      std::uintptr_t object = 0);
  void link(live_coroutine& each);
  [[nodiscard]] std::uintptr_t waiting_for(std::uintptr_t object) const;
  void cut_circles();
  void find_referring();
  [[nodiscard]] std::string with_name_of_object(std::string text, std::uintptr_t object) const;
  [[nodiscard]] std::string find_name_of_object(std::uintptr_t object) const;
  [[nodiscard]] live_coroutine* find(std::uintptr_t frame);
  [[nodiscard]] const live_coroutine* find(std::uintptr_t frame) const;
  [[nodiscard]] const live_coroutine* owner_of(std::uintptr_t part) const;
  /// A block of the heap.
  struct block {
    std::uintptr_t begin, end;
  };
  [[nodiscard]] block block_with(std::uintptr_t frame) const;
  [[nodiscard]] std::uintptr_t size_of_block(std::uintptr_t frame) const;

  symbols& names_;
  const process_memory& memory_;
  await_reader reader_;
  std::uintptr_t stack_;  ///< what is below it on this thread is not searched
  std::vector<live_coroutine> found_;
  std::map<std::uintptr_t, continuation> after_shared_;  ///< by the frame of the shared_task
  std::map<std::uintptr_t, awaited_object> objects_;
  bool is_linked_ = false;
};
}  // namespace coracle::detail
