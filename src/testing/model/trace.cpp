// SPDX-License-Identifier: MIT
#include "trace.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <utility>

namespace coracle::testing::model {
const char* name_of(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed:
      return "relaxed";
    case std::memory_order_acquire:
      return "acquire";
    case std::memory_order_release:
      return "release";
    case std::memory_order_acq_rel:
      return "acq_rel";
    default:
      return "seq_cst";
  }
}
std::string name_of_thread(unsigned index) { return index == 0 ? "body" : "thread " + std::to_string(index); }
std::string text_of(const site& where) {
  std::string file = where.file_name();
  const std::size_t folder = file.find_last_of('/');
  if (folder != std::string::npos) file.erase(0, folder + 1);
  return file + ":" + std::to_string(where.line());
}

namespace {
bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
/// Returns the position of the innermost bracket open before `end`, or npos.
std::size_t open_bracket(const std::string& text, std::size_t end) {
  for (int depth = 0; end-- != 0;) {
    if (text[end] == ')' || text[end] == ']') ++depth;
    if ((text[end] == '(' || text[end] == '[') && depth-- == 0) return end;
  }
  return std::string::npos;
}
/// Returns where the `a.b->c(d)` that ends before `end` begins.
std::size_t begin_of_object(const std::string& text, std::size_t end) {
  while (end != 0) {
    const char last = text[end - 1];
    if (last == ')' || last == ']') {
      end = open_bracket(text, end - 1);
      if (end == std::string::npos) return text.size();
    } else if (is_of_name(last) || last == '.') {
      --end;
    } else if (end > 1 && (text.compare(end - 2, 2, "->") == 0 || text.compare(end - 2, 2, "::") == 0)) {
      end -= 2;
    } else {
      break;
    }
  }
  return end;
}
/// A relative name refers to the folder in which the compiler ran, which is probably nearby.
std::ifstream open_source(std::filesystem::path name) {
  std::ifstream file(name);
  if (file || name.is_absolute()) return file;
  while (!name.empty() && *name.begin() == "..") name = name.lexically_relative("..");
  std::filesystem::path folder = std::filesystem::current_path();
  for (; !file.is_open() && folder.has_relative_path(); folder = folder.parent_path())
    file.open(folder / name);
  return file;
}
}  // namespace

std::string object_at(const site& where) {
  std::ifstream file = open_source(where.file_name());
  std::string text;
  std::uint_least32_t number = 0;
  for (std::string line; number != where.line() && std::getline(file, line); ++number) text += line + '\n';
  if (number == 0 || number != where.line()) return {};
  const std::size_t begin = text.rfind('\n', text.size() - 2) + 1;
  std::size_t at = std::min(begin + where.column() - 1, text.size() - 1);
  if (text[at] != '(') at = open_bracket(text, at);  // one compiler names the call, another its argument
  if (at == std::string::npos) return {};
  while (at != 0 && is_of_name(text[at - 1])) --at;
  if (at >= 2 && text.compare(at - 2, 2, "->") == 0) {
    at -= 2;
  } else if (at >= 1 && text[at - 1] == '.') {
    --at;
  } else {
    return {};
  }
  const std::size_t first = begin_of_object(text, at);
  return first < at ? text.substr(first, at - first) : "";
}

void model_trace::add(model_step made, const site& where) { lines_.push_back({std::move(made), where}); }
std::string model_trace::text_of(std::uint64_t value) {
  constexpr std::uint64_t smallest = std::uint64_t{1} << 32, behind_last = std::uint64_t{1} << 47, marks = 7;
  if (value < smallest || (value >= behind_last && value < ~smallest)) return std::to_string(value);
  if (value > ~smallest) return '-' + std::to_string(~value + 1);
  const std::size_t number = addresses_.try_emplace(value & ~marks, addresses_.size() + 1).first->second;
  const std::string mark = (value & marks) == 0 ? "" : " + " + std::to_string(value & marks);
  return "address " + std::to_string(number) + mark;
}
void model_trace::end(unsigned thread, const std::string& what, const void* about) {
  end_ = name_of_thread(thread) + " fails: " + what + "\n";
  about_ = about;
}
namespace {
std::string name_in(const std::map<std::uint32_t, std::string>& names, std::uint32_t atomic) {
  const auto found = names.find(atomic);
  return found == names.end() ? '#' + std::to_string(atomic) : found->second;
}
}  // namespace

/// Each atomic gets the name that its first access uses, followed by a number if the name is not unique.
std::map<std::uint32_t, std::string> model_trace::names() const {
  std::map<std::uint32_t, std::string> result;
  std::map<std::string, int> uses;
  for (const line& each : lines_) {
    if (each.what.atomic == 0 || !each.what.is_call_of_it) continue;
    std::string& name = result[each.what.atomic];
    if (!name.empty()) continue;
    name = object_at(each.where);
    ++uses[name];
  }
  for (auto& [number, name] : result) {
    if (name.empty() || uses[name] > 1) name += '#' + std::to_string(number);
  }
  return result;
}
std::string model_trace::name_of(std::uint32_t atomic) const { return name_in(names(), atomic); }
std::string model_trace::text(unsigned threads) const {
  const std::map<std::uint32_t, std::string> names = this->names();
  struct row {
    unsigned thread;
    std::string text;
    int times = 1;
  };
  std::vector<row> rows;
  const auto end_row = [&] {  // which may repeat the previous one
    if (rows.size() < 2) return;
    const row& last = rows.back();
    row& before = rows[rows.size() - 2];
    if (before.thread != last.thread || before.text != last.text) return;
    ++before.times;
    rows.pop_back();
  };
  for (const auto& [what, where] : lines_) {
    if (what.about && what.about != about_) continue;
    rows.push_back({what.thread, what.what});
    if (what.atomic != 0) rows.back().text += ' ' + name_in(names, what.atomic) + what.rest;
    if (!what.about) rows.back().text += "  " + testing::model::text_of(where);
    end_row();
  }
  for (row& each : rows) {
    if (each.times != 1) each.text += "  (" + std::to_string(each.times) + " times)";
  }
  const std::size_t first = rows.size() > most_lines ? rows.size() - most_lines : 0;
  std::vector<std::size_t> widths(threads, 8);
  for (std::size_t i = first; i != rows.size(); ++i)
    widths[rows[i].thread] = std::max(widths[rows[i].thread], rows[i].text.size());
  std::string result;
  const auto cell = [&](unsigned thread, const std::string& what) {
    result += what;
    if (thread + 1 != threads) result.append(widths[thread] - what.size() + 2, ' ');
  };
  for (unsigned i = 0; i != threads; ++i) cell(i, name_of_thread(i));
  result += '\n';
  if (first != 0) result += '(' + std::to_string(first) + " steps before)\n";
  for (std::size_t at = first; at != rows.size(); ++at) {
    for (unsigned i = 0; i <= rows[at].thread; ++i) cell(i, i == rows[at].thread ? rows[at].text : "");
    while (result.back() == ' ') result.pop_back();
    result += '\n';
  }
  return result + end_;
}
}  // namespace coracle::testing::model
