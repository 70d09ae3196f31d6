// tour/interleavings_station.cpp -- the model checker on a ring, as it is and with each memory order
// weakened.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "format.hpp"
#include "run_program.hpp"
#include "stations.hpp"

namespace tour {
namespace {
constexpr std::size_t mutants = 4;

/// What tour/interleavings/ring.cpp prints about one check.
struct check_result {
  std::string name, failure;
  bool passed = false, complete = false;
  std::uint64_t executions = 0;
  std::vector<std::string> schedule;  ///< its first line names the threads, each above its column
};

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  for (const char c : line) {
    if (c == '\t') {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

std::vector<check_result> parse(const std::string& printed) {
  std::vector<check_result> results;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('|') && !results.empty()) {
      results.back().schedule.push_back(line.substr(1));
      continue;
    }
    const auto fields = fields_of(line);
    if (fields.size() != 6 || fields[0] != "check")
      throw std::runtime_error("the model checker printed: " + line);
    results.push_back({fields[1], fields[5], fields[2] == "1", fields[3] == "1", std::stoull(fields[4]), {}});
  }
  return results;
}

/// The ring, as the page shows it.
constexpr const char* ring_code =
    "bool send(int element) {\n"
    "  auto tail = tail_.load(relaxed);\n"
    "  if (tail - head_.load(acquire) == 2)\n"
    "    return false;\n"
    "  slots_[tail % 2] = element;\n"
    "  tail_.store(tail + 1, release);\n"
    "  return true;\n"
    "}\n"
    "optional<int> receive() {\n"
    "  auto head = head_.load(relaxed);\n"
    "  if (head == tail_.load(acquire))\n"
    "    return nullopt;\n"
    "  int element = slots_[head % 2];\n"
    "  head_.store(head + 1, release);\n"
    "  return element;\n"
    "}\n";

/// A step of the model checker, by how its line begins; how the page calls it, and its line of ring_code.
struct known_step {
  std::size_t lane;
  std::string_view begins, shown;
  std::size_t line;
};
constexpr std::array<known_step, 9> known_steps{{{0, "load tail_", "", 2},
                                                 {0, "load head_", "", 3},
                                                 {0, "writes it", "writes the slot", 5},
                                                 {0, "store tail_", "", 6},
                                                 {0, "body fails", "", 5},
                                                 {1, "load head_", "", 10},
                                                 {1, "load tail_", "", 11},
                                                 {1, "reads it", "reads the slot", 13},
                                                 {1, "store head_", "", 14}}};

/// The place in ring.cpp, which ends the line, is left out: the page shows other code.
happening happening_of(std::size_t lane, std::string text, lane_state then) {
  const std::size_t place = text.find("  ring.cpp:");
  if (place != text.npos) text.erase(place);
  for (const known_step& each : known_steps) {
    if (each.lane != lane || !text.starts_with(each.begins)) continue;
    return {0, lane, each.shown.empty() ? std::move(text) : std::string(each.shown), then, {each.line}};
  }
  return {0, lane, std::move(text), then};
}

/// The steps of the second thread stand in a column of their own.
timeline interleaving_of(const check_result& failed) {
  timeline steps{
      "The interleaving that kills \"" + failed.name + "\"", {"sender (body)", "receiver (thread 1)"}, {}};
  if (failed.schedule.empty()) return steps;
  const std::size_t column = failed.schedule.front().find("thread 1");
  for (std::size_t i = 1; i != failed.schedule.size(); ++i) {
    const std::string& line = failed.schedule[i];
    const std::size_t start = std::min(line.find_first_not_of(' '), line.size());
    const bool fails = line.find(" fails: ") != line.npos;
    const std::size_t lane = fails ? line.starts_with("thread 1") : start >= column;
    if (line.compare(start, 8, "makes it") == 0)
      continue;  // the ring's constructor, which the page leaves out
    steps.events.push_back(
        happening_of(lane, line.substr(start), fails ? lane_state::failed : lane_state::running));
  }
  return steps;
}

std::vector<std::string> row_of(const check_result& result) {
  return {result.name, result.passed ? "passes" : "fails", grouped(result.executions),
          result.failure.substr(0, result.failure.find(':'))};
}
}  // namespace

void show_interleavings(section& page, const settings&) {
  page.say(
      "A ring for one sender and one receiver is lock-free and rests on four memory orders. A test seldom "
      "notices a weaker one: x86 orders these accesses anyway. The model checker runs three sends against "
      "three receives in every interleaving, with every stale value that C++ allows. The code is below.");
  const std::vector<check_result> results = parse(output_of("coracle-tour-interleavings"));
  if (results.size() != 1 + mutants) throw std::runtime_error("the model checker printed too little");
  const check_result& original = results.front();
  table all{"", {"weakened to relaxed", "result", "executions", "because of a"}, {}};
  for (const check_result& each : results) all.rows.push_back(row_of(each));
  all.rows.front().front() = "nothing";
  page.add(std::move(all));
  page.check(original.passed && original.complete,
             "The ring passes in all of its " + grouped(original.executions) + " executions.");
  const auto killed = static_cast<std::uint64_t>(std::count_if(
      results.begin() + 1, results.end(), [](const check_result& each) { return !each.passed; }));
  page.check(killed == mutants, "Each of the " + grouped(mutants) + " orders is needed: " + grouped(killed) +
                                    " of the mutants were killed.");
  page.add(listing{ring_code});
  page.add(interleaving_of(results.back()));
  page.say(
      "The receiver frees a place by a relaxed store. So the sender may write into it while, for all it "
      "knows, "
      "the old element is still being read.");
  page.measured("executions", static_cast<double>(original.executions), "executions");
  page.measured("mutants_killed", static_cast<double>(killed), "mutants");
}
}  // namespace tour
