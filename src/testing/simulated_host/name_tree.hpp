// src/testing/simulated_host/name_tree.hpp -- the names of a simulated disk: directories, links, and which of
// them survive a crash.
// SPDX-License-Identifier: MIT
#pragma once
#include <sys/stat.h>

#include <coracle/testing/simulation/simulation.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::detail::simulated {
class name_tree;

/// What a name refers to: a file, a folder or a symbolic link.
struct node {
  enum class kind : std::uint8_t { file, folder, symlink };
  /// What is the same for all kinds. `number` is that of the change that created it.
  struct origin {
    std::uint64_t number;
    std::int64_t time;  // in nanoseconds
    unsigned permissions;
  };
  node(kind its_type, const origin& from) noexcept
      : type(its_type), created(from.number), permissions(from.permissions), modified(from.time) {}
  node(const node&) = delete;
  node& operator=(const node&) = delete;
  virtual ~node() = default;

  const kind type;
  const std::uint64_t created;  // also identifies it: its inode
  const unsigned permissions;
  std::int64_t modified;
  unsigned names = 0, opened = 0;
  bool name_is_durable = false;  // that with which it was created
};

struct folder final : node {
  explicit folder(const origin& from) noexcept : node(kind::folder, from) {}
  std::map<std::string, std::shared_ptr<node>, std::less<>> entries;
  std::weak_ptr<folder> parent;  // expired for the root
};

struct symlink final : node {
  symlink(const origin& from, std::string_view its_target) : node(kind::symlink, from), target(its_target) {}
  const std::string target;
};

/// A file: its current contents, and what would survive a power loss.
struct stored_file final : node {
  explicit stored_file(const origin& from) noexcept : node(kind::file, from) {}
  /// A change since the last sync, in order.
  struct change {
    std::uint64_t number;
    std::uint64_t offset;  // the new size, if `is_size`
    std::string bytes;
    bool is_size;
  };
  std::string now, durable;
  std::vector<change> changes;
  std::vector<const void*> locked_by;  // opened files, each once
  bool is_locked_exclusively = false;  // by the only one of them
};

/// Is told of changes as those of inotify(7) are: IN_MODIFY ...
class change_listener {
 public:
  /// Of an entry of a folder. `cookie`: of a rename, otherwise 0.
  virtual void entry_changed(const folder& in, std::string_view name, const node& what, std::uint32_t change,
                             std::uint32_t cookie) = 0;
  /// Of the file or folder itself.
  virtual void self_changed(const node& what, std::uint32_t change) = 0;

 protected:
  ~change_listener() = default;
};

/// Results are those of the system calls: -errno.
class name_tree {
 public:
  using base = std::shared_ptr<folder>;  // where a relative path begins
  enum class links : std::uint8_t {
    followed,
    kept_last,  // the last part of the path may be one, and is not followed
    refused     // ELOOP
  };
  /// What a slash behind the last part means.
  enum class end_slash : std::uint8_t {
    of_folder,  // the part is a folder or a link to one: ENOTDIR
    of_name,    // the caller checks that; a link is not followed
    refused     // EISDIR: a file cannot be created there
  };
  /// Where a path leads.
  struct place {
    int error = 0;               // 0 also if there is nothing of that name in `in`
    std::shared_ptr<folder> in;  // null for the root, and for a path that ends in `.` or `..`
    std::string name;            // the last part of the path; empty for the root
    std::shared_ptr<node> what;
    bool is_of_folder = false;  // the path ends in a slash
  };

  explicit name_tree(testing::simulation& sim);

  [[nodiscard]] const base& root() const noexcept { return root_; }
  [[nodiscard]] place find(const base& from, std::string_view path, links how,
                           end_slash slash = end_slash::of_folder) const;
  /// Returns nothing but a file.
  [[nodiscard]] std::shared_ptr<stored_file> find_file(std::string_view path) const;

  /// Requires: nothing is there, and there is no error.
  std::shared_ptr<stored_file> create_file(const place& at, unsigned permissions);
  int make_folder(const base& from, std::string_view path, unsigned permissions);
  int make_symlink(const base& from, std::string_view target, std::string_view path);
  int link(const base& from, std::string_view target, std::string_view path);
  int rename(const base& from, std::string_view old_path, std::string_view new_path);
  int remove(const base& from, std::string_view path, bool a_folder);
  /// Creates the folders that lead to a name. Returns where it is. Requires: all but the last part of `path`
  /// are folders, or do not exist.
  place make_way_to(std::string_view path);

  /// Makes the changes below `end` durable that concern the names in `of`.
  void sync(folder& of, std::uint64_t end);
  /// Undoes the last renames and removals, by chance, and drops the names that do not survive.
  /// `file_survives` is called for each file and decides about a new one.
  void crash(const std::function<bool(stored_file&)>& file_survives);

  /// The number of the next change.
  [[nodiscard]] std::uint64_t next_change() const noexcept { return next_change_; }
  std::uint64_t take_number() noexcept { return next_change_++; }
  [[nodiscard]] std::int64_t time() noexcept { return sim_.now().time_since_epoch().count(); }
  void listen(change_listener& one) { listeners_.push_back(&one); }
  void ignore(const change_listener& one) noexcept { std::erase(listeners_, &one); }
  /// Reports a change of the contents, to who watches the file or a folder that it is in.
  void contents_changed(const stored_file& file, std::uint32_t how);
  void was_opened(node& one) noexcept { ++one.opened; }
  void was_closed(node& one);
  void visit_files(const std::function<void(stored_file&)>& visit) const;

 private:
  /// Names that changed together. Until their folders are synced, a power loss may undo it.
  struct change {
    struct entry {
      std::shared_ptr<folder> in;
      std::string name;
      std::shared_ptr<node> before;  // null: nothing had the name
      bool is_synced;
    };
    std::uint64_t number;
    std::vector<entry> entries;
  };

  [[nodiscard]] node::origin origin_of_new(unsigned permissions) noexcept;
  void assign(const std::shared_ptr<folder>& in, const std::string& name, std::shared_ptr<node> what);
  void change_names(const std::vector<change::entry>& entries, std::shared_ptr<node> moved);
  void tell_of_entry(const folder& in, std::string_view name, const node& what, std::uint32_t how,
                     std::uint32_t cookie = 0) const;
  void tell_of_self(const node& what, std::uint32_t how) const;
  void tell_if_gone(const node& what) const;
  void add(const place& at, std::shared_ptr<node> created);
  void drop_lost(const std::shared_ptr<folder>& in, const std::function<bool(stored_file&)>& file_survives);

  testing::simulation& sim_;
  std::uint64_t next_change_ = 1;
  base root_;
  std::vector<change> changes_;  // not durable yet, in order
  std::vector<change_listener*> listeners_;
};
}  // namespace coracle::detail::simulated
