// tests/model/framework/model_mutants.cpp -- breaks the shipped code in one place after another.
// SPDX-License-Identifier: MIT
#include "model_mutants.hpp"

#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "../../../src/testing/model/mutation.hpp"

namespace coracle_test {
namespace {
/// What is wrong, or empty.
std::string wrong_with(const model_case& one, const coracle::testing::model_result& result) {
  if (!result.passed) return result.failure;
  if (!one.outcomes) return {};
  for (const std::string& each : result.outcomes) {
    if (!one.outcomes->contains(each)) return "outcome " + each;
  }
  return result.complete && result.outcomes.size() != one.outcomes->size() ? "an outcome never comes" : "";
}

/// Mutants of single accesses, made by the checker itself.
struct access_mutants {
  using place = coracle::testing::model::model_place;
  using mutant = coracle::testing::model::model_mutant;
  using mutation = coracle::testing::model::model_mutation;

  static void begin_to_collect() { mutation::begin_to_collect(); }
  static std::vector<place> end_to_collect() {
    std::vector<place> result = mutation::end_to_collect();
    std::erase_if(result, [](const place& each) { return !is_shipped(each.file); });
    return result;
  }
  static std::vector<mutant> mutants_of(const place& each) {
    return coracle::testing::model::mutants_of(each);
  }
  static const place& place_of(const mutant& each) { return each.at; }
  static void begin(const mutant& each) { mutation::begin(each); }
  /// Where it is, and what is wrong there.
  static std::string name_of(const mutant& each) { return where(each) + '\t' + each.text(); }
  /// As tools/mutants.py reads it.
  static std::string describe(const mutant& each) {
    return where(each) + '\t' + each.at.function + '\t' + each.text();
  }

 private:
  static bool is_shipped(const std::string& file) {
    return (file.find("include/coracle/") != file.npos || file.find("src/exec/") != file.npos ||
            file.find("src/io/") != file.npos || file.find("src/time/") != file.npos) &&
           file.find("/testing/") == file.npos;
  }
  static std::string where(const mutant& each) {
    const std::string& path = each.at.file;
    const bool is_header = path.find("include/coracle/") != path.npos;
    return path.substr(path.rfind(is_header ? "include/coracle/" : "src/")) + ':' +
           std::to_string(each.at.line) + ':' + std::to_string(each.at.column);
  }
};

#if defined(CORACLE_STATEMENT_MUTANTS)
/// Mutants of statements, which tools/statement_mutants.py has written into the sources.
struct statement_mutants {
  using place = unsigned;
  using mutant = unsigned;

  static void begin_to_collect() { coracle_mutants::forget(); }
  static std::vector<place> end_to_collect() { return coracle_mutants::met(); }
  static std::vector<mutant> mutants_of(place each) { return {each}; }
  static place place_of(mutant each) { return each; }
  static void begin(mutant each) {
    coracle::testing::model::model_mutation::begin({});  // it counts the accesses
    coracle_mutants::active = each;
  }
  static std::string name_of(mutant each) { return std::to_string(each); }
  static std::string describe(mutant each) { return std::to_string(each); }
};
using shipped_mutants = statement_mutants;
#else
using shipped_mutants = access_mutants;
#endif

/// run_mutants(), of one kind of mutants.
template <class Kind>
class trial {
 public:
  /// `left_out` names mutants in the form of Kind::name_of().
  trial(std::vector<model_case> cases, std::uint64_t budget, const std::string& left_out) : budget_(budget) {
    for (model_case& each : cases) cases_.push_back({std::move(each), 0, {}});
    if (left_out.empty()) return;
    std::ifstream file{left_out};
    if (!file) std::abort();
    for (std::string line; std::getline(file, line);) left_out_.insert(line);
  }
  /// 1: a case fails as it is.
  int run() {
    for (tried& each : cases_) {
      if (!collect(each)) return 1;
    }
    std::sort(cases_.begin(), cases_.end(),
              [](const tried& a, const tried& b) { return a.executions < b.executions; });
    for (const place& each : places_) {
      for (const mutant& one : Kind::mutants_of(each)) {
        if (!left_out_.contains(Kind::name_of(one))) try_out(one);
      }
    }
    return 0;
  }

 private:
  using place = typename Kind::place;
  using mutant = typename Kind::mutant;
  struct tried {
    model_case what;
    std::uint64_t executions;
    std::vector<place> places;
  };

  static bool is_among(const std::vector<place>& places, const place& one) {
    return std::find(places.begin(), places.end(), one) != places.end();
  }

  bool collect(tried& each) {
    coracle::testing::model_limits limits = each.what.limits;
    limits.executions = std::min(limits.executions, budget_);
    Kind::begin_to_collect();
    const auto result = coracle::testing::model_check(limits, each.what.body);
    each.places = Kind::end_to_collect();
    each.executions = result.executions;
    for (const place& one : each.places) {
      if (!is_among(places_, one)) places_.push_back(one);
    }
    const std::string wrong = wrong_with(each.what, result);
    if (!wrong.empty()) std::printf("FAILED as it is: %s: %s\n", each.what.name.c_str(), wrong.c_str());
    return wrong.empty();
  }

  void try_out(const mutant& one) const {
    int ends[2];
    std::fflush(stdout);
    if (::pipe(ends) != 0) std::abort();
    const pid_t child = ::fork();
    if (child < 0) std::abort();
    if (child == 0) {
      ::close(ends[0]);
      run_mutant(one, ends[1]);
    }
    ::close(ends[1]);
    std::string told;
    char buffer[4096];
    for (ssize_t count; (count = ::read(ends[0], buffer, sizeof buffer)) > 0;)
      told.append(buffer, static_cast<std::size_t>(count));
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) told += std::string("crash: ") + ::strsignal(WTERMSIG(status));
    const bool survived = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    std::printf("%s\t%s\t%s\n", survived ? "survived" : "killed", Kind::describe(one).c_str(), told.c_str());
  }

  /// In the child process: reports which case runs, and what is wrong with it.
  [[noreturn]] void run_mutant(const mutant& one, int to) const {
    const auto tell = [to](std::string text) {
      std::replace_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
      if (::write(to, text.data(), text.size()) < 0) ::_exit(2);
    };
    watch_for_hang();
    Kind::begin(one);
    for (const tried& each : cases_) {
      if (!is_among(each.places, Kind::place_of(one))) continue;
      coracle::testing::model_limits limits = each.what.limits;
      limits.executions = std::min({limits.executions, budget_, each.executions * 2 + 1000});
      const auto result = coracle::testing::model_check(limits, each.what.body);
      const std::string wrong = wrong_with(each.what, result);
      if (wrong.empty()) continue;
      tell(each.what.name + ": " + wrong);
      ::_exit(1);
    }
    ::_exit(0);
  }
  /// Limits a mutant that loops without accessing shared memory, or that exhausts the machine.
  static void watch_for_hang() {
    rlimit memory{};
    memory.rlim_cur = memory.rlim_max = rlim_t{4} << 30;
    ::setrlimit(RLIMIT_AS, &memory);
    std::signal(SIGVTALRM, [](int) {
      static std::uint64_t before = ~std::uint64_t{0};
      const std::uint64_t now = coracle::testing::model::model_mutation::accesses();
      if (now == before) ::_exit(3);
      before = now;
    });
    itimerval each_second{};
    each_second.it_interval.tv_sec = each_second.it_value.tv_sec = 1;
    ::setitimer(ITIMER_VIRTUAL, &each_second, nullptr);
    if (!std::freopen("/dev/null", "w", stderr)) ::_exit(2);
  }

  const std::uint64_t budget_;
  std::set<std::string> left_out_;
  std::vector<tried> cases_;
  std::vector<place> places_;
};
}  // namespace

int run_mutants(std::vector<model_case> cases, std::uint64_t budget, const std::string& left_out) {
  return trial<shipped_mutants>{std::move(cases), budget, left_out}.run();
}
}  // namespace coracle_test
