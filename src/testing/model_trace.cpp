// SPDX-License-Identifier: MIT
#include "model_trace.hpp"

#include <algorithm>

#include "model_blocks.hpp"

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
/// Addresses differ from run to run and say little.
std::string text_of(std::uint64_t value) {
  if (value < 1'000'000) return std::to_string(value);
  if (value > ~std::uint64_t{0} - 1000) return "-" + std::to_string(~value + 1);
  return "address";
}
std::string text_of(const site& where) {
  std::string file = where.file_name();
  const std::size_t folder = file.find_last_of('/');
  if (folder != std::string::npos) file.erase(0, folder + 1);
  return file + ":" + std::to_string(where.line());
}

void model_trace::add(unsigned thread, const std::string& what, const site& where) {
  const model_own_work own;
  lines_.push_back({thread, what, text_of(where)});
}
void model_trace::end(unsigned thread, const std::string& what) {
  const model_own_work own;
  end_ = (thread == 0 ? "body" : "thread " + std::to_string(thread)) + " fails: " + what + "\n";
}
std::string model_trace::text(unsigned threads) const {
  const std::size_t first = lines_.size() > most_lines ? lines_.size() - most_lines : 0;
  std::vector<std::size_t> widths(threads, 8);
  for (std::size_t i = first; i != lines_.size(); ++i) {
    const line& each = lines_[i];
    widths[each.thread] = std::max(widths[each.thread], each.what.size() + each.where.size() + 2);
  }
  std::string result;
  const auto cell = [&](unsigned thread, const std::string& what) {
    result += what;
    if (thread + 1 != threads) result.append(widths[thread] - what.size() + 2, ' ');
  };
  for (unsigned i = 0; i != threads; ++i) cell(i, i == 0 ? "body" : "thread " + std::to_string(i));
  result += '\n';
  if (first != 0) result += "(" + std::to_string(first) + " steps before)\n";
  for (std::size_t at = first; at != lines_.size(); ++at) {
    const line& each = lines_[at];
    for (unsigned i = 0; i <= each.thread; ++i) {
      cell(i, i == each.thread ? each.what + "  " + each.where : "");
    }
    while (result.back() == ' ') result.pop_back();
    result += '\n';
  }
  return result + end_;
}
}  // namespace coracle::testing::model
