// SPDX-License-Identifier: MIT
#include "name_tree.hpp"

#include <sys/inotify.h>

#include <algorithm>
#include <climits>
#include <coracle/base/check.hpp>
#include <set>

namespace coracle::detail::simulated {
namespace {
constexpr int most_links = 40;  // followed in one path, as on Linux

std::shared_ptr<folder> as_folder(const std::shared_ptr<node>& what) noexcept {
  return what && what->type == node::kind::folder ? std::static_pointer_cast<folder>(what) : nullptr;
}
std::shared_ptr<stored_file> as_file(const std::shared_ptr<node>& what) noexcept {
  return what && what->type == node::kind::file ? std::static_pointer_cast<stored_file>(what) : nullptr;
}
/// A folder that was removed is empty, and stays so.
bool is_removed(const folder& one, const folder& root) noexcept { return one.names == 0 && &one != &root; }

/// Takes the first part of a path, without the slashes around it.
std::string take_part(std::string& path) {
  const std::size_t begin = path.find_first_not_of('/');
  if (begin == path.npos) {
    path.clear();
    return {};
  }
  const std::size_t end = std::min(path.find('/', begin), path.size());
  const std::string part = path.substr(begin, end - begin);
  path.erase(0, end);
  return part;
}
bool has_parts(std::string_view path) noexcept { return path.find_first_not_of('/') != path.npos; }

/// Returns why nothing can be created there; 0 if it can.
int refusal_to_create(const name_tree::place& at, bool a_folder) noexcept {
  if (at.error != 0) return at.error;
  if (at.what) return -EEXIST;
  return at.is_of_folder && !a_folder ? -ENOENT : 0;
}
bool is_at_or_below(std::shared_ptr<folder> one, const folder& other) noexcept {
  while (one && one.get() != &other) one = one->parent.lock();
  return one != nullptr;
}
}  // namespace

name_tree::name_tree(testing::simulation& sim)
    : sim_(sim), root_(std::make_shared<folder>(origin_of_new(0755))) {}

node::origin name_tree::origin_of_new(unsigned permissions) noexcept {
  constexpr unsigned umask = 022;
  return {take_number(), time(), permissions & 07777U & ~umask};
}

// ---- paths ---------------------------------------------------------------------------------------------

name_tree::place name_tree::find(const base& from, std::string_view path, links how, end_slash slash) const {
  if (path.empty()) return {-ENOENT, {}, {}, {}};
  if (path.size() >= PATH_MAX) return {-ENAMETOOLONG, {}, {}, {}};
  std::string left(path);
  place at{0, {}, {}, path.front() == '/' ? root_ : from, path.back() == '/'};
  int followed = 0;
  while (has_parts(left)) {
    const std::shared_ptr<folder> in = as_folder(at.what);
    if (!in) return {at.what ? -ENOTDIR : -ENOENT, {}, {}, {}};
    const std::string part = take_part(left);
    if (part == "." || part == "..") {
      at.name = part;
      at.in = nullptr;  // it cannot be renamed or removed by this path
      const std::shared_ptr<folder> parent = in->parent.lock();
      if (part == ".." && parent) at.what = parent;
      continue;
    }
    const bool is_last = !has_parts(left);
    if (is_last && at.is_of_folder && slash == end_slash::refused) return {-EISDIR, {}, {}, {}};
    if (part.size() > NAME_MAX) return {-ENAMETOOLONG, {}, {}, {}};
    const auto found = in->entries.find(part);
    at.in = in;
    at.name = part;
    at.what = found == in->entries.end() ? nullptr : found->second;
    const bool is_link = at.what && at.what->type == node::kind::symlink;
    const bool ends_here = is_last && (!at.is_of_folder || slash == end_slash::of_name);
    if (!is_link || (ends_here && how == links::kept_last)) continue;
    if (how == links::refused || ++followed > most_links) return {-ELOOP, {}, {}, {}};
    const std::string& target = static_cast<const symlink&>(*at.what).target;
    left.insert(0, target + "/");
    if (is_last && target.back() == '/') at.is_of_folder = true;
    at.what = target.front() == '/' ? root_ : in;
  }
  if (!at.what && at.in && is_removed(*at.in, *root_)) at.error = -ENOENT;
  const bool has_to_be_folder = at.is_of_folder && slash != end_slash::of_name;
  if (at.what && has_to_be_folder && !as_folder(at.what)) at.error = -ENOTDIR;
  return at;
}

std::shared_ptr<stored_file> name_tree::find_file(std::string_view path) const {
  return as_file(find(root_, path, links::followed).what);
}

// ---- changes -------------------------------------------------------------------------------------------

/// Gives the name to `what`, or to nothing.
void name_tree::assign(const std::shared_ptr<folder>& in, const std::string& name,
                       std::shared_ptr<node> what) {
  in->modified = time();
  const auto found = in->entries.find(name);
  if (found != in->entries.end()) {
    --found->second->names;
    if (!what) in->entries.erase(found);
  }
  if (!what) return;
  ++what->names;
  if (const auto moved = as_folder(what)) moved->parent = in;
  in->entries[name] = std::move(what);
}

/// Removes all these names but the last, which `moved` gets.
void name_tree::change_names(const std::vector<change::entry>& entries, std::shared_ptr<node> moved) {
  for (const change::entry& each : entries)
    assign(each.in, each.name, &each == &entries.back() ? moved : nullptr);
  changes_.push_back({take_number(), entries});
}

void name_tree::add(const place& at, std::shared_ptr<node> created) {
  assign(at.in, at.name, created);
  tell_of_entry(*at.in, at.name, *created, IN_CREATE);
}

std::shared_ptr<stored_file> name_tree::create_file(const place& at, unsigned permissions) {
  auto created = std::make_shared<stored_file>(origin_of_new(permissions));
  add(at, created);
  return created;
}

int name_tree::make_folder(const base& from, std::string_view path, unsigned permissions) {
  const place at = find(from, path, links::kept_last, end_slash::of_name);
  if (const int error = refusal_to_create(at, true); error != 0) return error;
  add(at, std::make_shared<folder>(origin_of_new(permissions)));
  return 0;
}

int name_tree::make_symlink(const base& from, std::string_view target, std::string_view path) {
  if (target.empty()) return -ENOENT;
  const place at = find(from, path, links::kept_last, end_slash::of_name);
  if (const int error = refusal_to_create(at, false); error != 0) return error;
  node::origin made = origin_of_new(0);
  made.permissions = 0777;  // the umask does not apply
  add(at, std::make_shared<symlink>(made, target));
  return 0;
}

int name_tree::link(const base& from, std::string_view target, std::string_view path) {
  const place old = find(from, target, links::kept_last);
  if (old.error != 0) return old.error;
  if (!old.what) return -ENOENT;
  const place at = find(from, path, links::kept_last, end_slash::of_name);
  if (const int error = refusal_to_create(at, false); error != 0) return error;
  if (as_folder(old.what)) return -EPERM;
  change_names({{at.in, at.name, nullptr, false}}, old.what);
  tell_of_self(*old.what, IN_ATTRIB);
  tell_of_entry(*at.in, at.name, *old.what, IN_CREATE);
  return 0;
}

int name_tree::rename(const base& from, std::string_view old_path, std::string_view new_path) {
  const place old = find(from, old_path, links::kept_last, end_slash::of_name);
  if (old.error != 0) return old.error;
  const place at = find(from, new_path, links::kept_last, end_slash::of_name);
  if (at.error != 0) return at.error;
  if (!old.in || !at.in) return -EBUSY;
  if (!old.what) return -ENOENT;
  const auto moved = as_folder(old.what), replaced = as_folder(at.what);
  if ((old.is_of_folder || at.is_of_folder) && !moved) return -ENOTDIR;
  if (old.what == at.what) return 0;
  if (moved && is_at_or_below(at.in, *moved)) return -EINVAL;
  if (replaced && is_at_or_below(old.in, *replaced)) return -ENOTEMPTY;
  if (at.what && moved && !replaced) return -ENOTDIR;
  if (replaced && !moved) return -EISDIR;
  if (replaced && !replaced->entries.empty()) return -ENOTEMPTY;
  const auto cookie = static_cast<std::uint32_t>(next_change_);
  change_names({{old.in, old.name, old.what, false}, {at.in, at.name, at.what, false}}, old.what);
  tell_of_entry(*old.in, old.name, *old.what, IN_MOVED_FROM, cookie);
  tell_of_entry(*at.in, at.name, *old.what, IN_MOVED_TO, cookie);
  if (at.what) tell_of_self(*at.what, IN_ATTRIB);
  tell_of_self(*old.what, IN_MOVE_SELF);
  if (at.what) tell_if_gone(*at.what);
  return 0;
}

int name_tree::remove(const base& from, std::string_view path, bool a_folder) {
  const place at = find(from, path, links::kept_last, end_slash::of_name);
  if (at.error != 0) return at.error;
  if (!at.what) return -ENOENT;
  const auto removed = as_folder(at.what);
  if (removed && !a_folder) return -EISDIR;
  if (!removed && (a_folder || at.is_of_folder)) return -ENOTDIR;
  if (!at.in) return at.name == "." ? -EINVAL : at.name == ".." ? -ENOTEMPTY : -EBUSY;
  if (removed && !removed->entries.empty()) return -ENOTEMPTY;
  change_names({{at.in, at.name, at.what, false}}, nullptr);
  if (!removed) tell_of_self(*at.what, IN_ATTRIB);
  tell_of_entry(*at.in, at.name, *at.what, IN_DELETE);
  tell_if_gone(*at.what);
  return 0;
}

name_tree::place name_tree::make_way_to(std::string_view path) {
  for (std::size_t slash = path.find('/', 1); slash != path.npos; slash = path.find('/', slash + 1)) {
    const std::string_view above = path.substr(0, slash);
    make_folder(root_, above, 0755);
    const place made = find(root_, above, links::followed);
    CORACLE_REQUIRE(as_folder(made.what), "a name on a simulated disk is below one that is not a directory");
    made.what->name_is_durable = true;
  }
  return find(root_, path, links::followed);
}

// ---- what listeners are told ---------------------------------------------------------------------------

void name_tree::tell_of_entry(const folder& in, std::string_view name, const node& what, std::uint32_t how,
                              std::uint32_t cookie) const {
  for (change_listener* const each : listeners_) each->entry_changed(in, name, what, how, cookie);
}
void name_tree::tell_of_self(const node& what, std::uint32_t how) const {
  for (change_listener* const each : listeners_) each->self_changed(what, how);
}
void name_tree::tell_if_gone(const node& what) const {
  if (what.names == 0 && what.opened == 0) tell_of_self(what, IN_DELETE_SELF);
}
void name_tree::was_closed(node& one) {
  --one.opened;
  tell_if_gone(one);
}

void name_tree::contents_changed(const stored_file& file, std::uint32_t how) {
  if (listeners_.empty()) return;
  const auto tell_in = [&](const auto& self, const folder& in) -> void {
    for (const auto& [name, each] : in.entries) {
      if (each.get() == &file) tell_of_entry(in, name, file, how);
      if (const auto below = as_folder(each)) self(self, *below);
    }
  };
  tell_in(tell_in, *root_);
  tell_of_self(file, how);
}

// ---- durability ----------------------------------------------------------------------------------------

void name_tree::sync(folder& of, std::uint64_t end) {
  of.name_is_durable = true;
  for (const auto& [name, each] : of.entries) {
    if (each->created < end) each->name_is_durable = true;
  }
  std::erase_if(changes_, [&](change& each) {
    bool all = true;
    for (change::entry& one : each.entries) {
      if ((one.in.get() == &of && each.number < end) || is_removed(*one.in, *root_)) one.is_synced = true;
      all = all && one.is_synced;
    }
    return all;
  });
}

void name_tree::crash(const std::function<bool(stored_file&)>& file_survives) {
  // Those that survive are the first of them.
  std::size_t surviving = changes_.empty() ? 0 : sim_.random().between(std::size_t{0}, changes_.size());
  for (; changes_.size() != surviving; changes_.pop_back()) {
    const std::vector<change::entry>& entries = changes_.back().entries;
    for (auto each = entries.rbegin(); each != entries.rend(); ++each)
      assign(each->in, each->name, each->before);
  }
  changes_.clear();
  drop_lost(root_, file_survives);
}

void name_tree::drop_lost(const std::shared_ptr<folder>& in,
                          const std::function<bool(stored_file&)>& file_survives) {
  const auto entries = in->entries;
  for (const auto& [name, each] : entries) {
    if (const auto file = as_file(each)) {
      each->name_is_durable = file_survives(*file);
    } else if (!each->name_is_durable) {
      each->name_is_durable = sim_.random().one_in(2);
    }
    if (!each->name_is_durable) {
      assign(in, name, nullptr);
    } else if (const auto below = as_folder(each)) {
      drop_lost(below, file_survives);
    }
  }
}

void name_tree::visit_files(const std::function<void(stored_file&)>& visit) const {
  std::set<const stored_file*> with_several_names;
  const auto visit_in = [&](const auto& self, const folder& in) -> void {
    for (const auto& [name, each] : in.entries) {
      if (const auto below = as_folder(each)) self(self, *below);
      const auto file = as_file(each);
      if (file && (file->names == 1 || with_several_names.insert(file.get()).second)) visit(*file);
    }
  };
  visit_in(visit_in, *root_);
}
}  // namespace coracle::detail::simulated
