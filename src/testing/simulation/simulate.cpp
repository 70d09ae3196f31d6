// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/simulation/simulate.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>

// Under a sanitizer: registers a function to call before it ends the program.
extern "C" [[gnu::weak]] void __sanitizer_set_death_callback(void (*call)());

namespace coracle::testing {
namespace {
char running_now[256];

void name_what_runs() noexcept {
  if (::write(STDERR_FILENO, running_now, std::strlen(running_now)) < 0) return;
}

/// While it lives, anything that ends the program first prints the seed on stderr. Then it is handled as
/// before: test frameworks and crash handlers have handlers of their own.
class last_words {
 public:
  last_words() noexcept {
    if (outermost_) return;
    outermost_ = this;
    struct sigaction own{};
    own.sa_sigaction = &on_signal;
    own.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (std::size_t i = 0; i != signals.size(); ++i) {
      ::sigaction(signals[i], nullptr, &outer_[i]);
      if (outer_[i].sa_handler != SIG_IGN) ::sigaction(signals[i], &own, nullptr);
    }
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(&name_what_runs);
  }
  last_words(const last_words&) = delete;
  last_words& operator=(const last_words&) = delete;
  ~last_words() {
    if (outermost_ != this) return;
    for (const int signal : signals) restore(signal);
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(nullptr);
    outermost_ = nullptr;
  }
  static void say(std::uint64_t seed, const char* fault, std::uint64_t k) noexcept {
    std::snprintf(running_now, sizeof running_now, "in a simulation with seed %llu%s%s%.0llu\n",
                  static_cast<unsigned long long>(seed), *fault ? ", " : "", fault,
                  static_cast<unsigned long long>(k));
  }

 private:
  static constexpr std::array signals{SIGABRT, SIGSEGV, SIGTERM};

  static void on_signal(int signal, siginfo_t* info, void*) noexcept {
    name_what_runs();
    outermost_->restore(signal);
    // A fault recurs on return; a sent signal does not.
    if (signal == SIGABRT || info->si_code <= 0) ::raise(signal);
  }
  void restore(int signal) const noexcept {
    for (std::size_t i = 0; i != signals.size(); ++i) {
      if (signals[i] == signal) ::sigaction(signal, &outer_[i], nullptr);
    }
  }

  static inline constinit last_words* outermost_ = nullptr;
  struct sigaction outer_[signals.size()]{};
};

/// Returns false if the text is no number.
bool read_number(std::string_view text, std::uint64_t& to) noexcept {
  const char* const end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(text.data(), end, to);
  return result.ec == std::errc() && result.ptr == end;
}

std::optional<std::uint64_t> seed_of_environment() {
  const char* const text = std::getenv("CORACLE_SEED");
  std::uint64_t seed = 0;
  if (!text || !read_number(text, seed)) return std::nullopt;
  return seed;
}

std::string how_again(std::uint64_t seed) {
  return "to run it again: CORACLE_SEED=" + std::to_string(seed) + " in the environment\n";
}

/// One run. `tolerate` calls its argument and swallows the permitted exceptions.
template <class Body, class Tolerate>
void run_once(simulation& sim, const Body& body, const std::string& what, Tolerate tolerate) {
  std::string why;
  try {
    tolerate([&] { body(sim); });
  } catch (const simulation_failure& failure) {
    throw simulation_failure(what + failure.what() + how_again(sim.seed()));
  } catch (const std::exception& error) {
    why = std::string("an exception left the scenario: ") + error.what();
  } catch (...) {
    why = "an exception left the scenario";
  }
  if (why.empty()) why = sim.unmet();
  if (!why.empty()) throw simulation_failure(what + sim.report(why) + how_again(sim.seed()));
}
constexpr auto no_exception = [](auto call) { call(); };
}  // namespace

simulated_total simulate(const simulated_seeds& seeds, const simulated_scenario& body,
                         const simulation_options& options) {
  const last_words words;
  const auto only = seed_of_environment();
  simulation_options chosen = options;
  if (only) chosen.trace_lines = 100'000;
  const std::uint64_t first = only.value_or(seeds.first), count = only ? 1 : seeds.count;
  simulated_total total;
  for (std::uint64_t seed = first; seed != first + count; ++seed) {
    last_words::say(seed, "", 0);
    simulation sim{seed, chosen};
    run_once(sim, body, "", no_exception);
    ++total.seeds;
    total.steps += sim.trace().steps();
    total.hash = random_source::mix(total.hash + sim.trace().hash());
    if (only) std::fprintf(stderr, "%s", sim.report("was run alone because CORACLE_SEED is set").c_str());
  }
  return total;
}

namespace {
/// Runs a scenario with one fault, and checks that it leaks no memory.
class fault_runs {
 public:
  fault_runs(std::uint64_t seed, const simulated_scenario& body, const simulation_options& options)
      : seed_(seed), body_(body), options_(options) {}

  /// The numbers of steps, operations and allocations.
  struct counts {
    std::uint64_t steps, operations, allocations;
  };
  template <class Tolerate>
  counts run(const char* fault, std::uint64_t k, const simulation_faults& faults, std::uint64_t failing,
             Tolerate tolerate) {
    last_words::say(seed_, fault, k);
    const std::string what = k == 0 ? std::string() : fault + std::to_string(k) + ": ";
    trim_frame_memory();
    const long long before = live_allocations();
    counts seen{};
    {
      simulation sim{seed_, options_, faults};
      const std::size_t made = allocations();
      const auto failing_body = [&](simulation& its) {
        const failing_allocation fails{static_cast<std::size_t>(failing)};
        body_(its);
      };
      run_once(sim, failing_body, what, tolerate);
      seen.steps = sim.trace().steps();
      hash_ = random_source::mix(hash_ + sim.trace().hash());
      seen.allocations = allocations() - made;
      seen.operations = sim.operations();
    }
    trim_frame_memory();
    if (live_allocations() != before) {
      throw simulation_failure(what + "simulation, seed " + std::to_string(seed_) +
                               ": memory is left behind, " + std::to_string(live_allocations() - before) +
                               " blocks\n" + how_again(seed_));
    }
    return seen;
  }
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

 private:
  std::uint64_t hash_ = 0;
  const std::uint64_t seed_;
  const simulated_scenario& body_;
  const simulation_options& options_;
};

void expect_allocations_are_counted() noexcept {
  const std::size_t before = allocations();
  ::operator delete(::operator new(1));
  if (allocations_are_counted && allocations() == before) {
    detail::fail("nothing counts allocations: one file of the program has CORACLE_COUNT_ALLOCATIONS()");
  }
}

constexpr auto a_cancellation = [](auto call) {
  try {
    call();
  } catch (const operation_cancelled&) {
  }
};
constexpr auto no_memory = [](auto call) {
  try {
    call();
  } catch (const std::bad_alloc&) {
  }
};
constexpr auto any_error = [](auto call) {
  try {
    call();
  } catch (const simulation_failure&) {
    throw;
  } catch (...) {  // NOLINT: any is allowed
  }
};
}  // namespace

fault_counts for_every_fault(std::uint64_t seed, const simulated_scenario& body,
                             const simulation_options& options) {
  expect_allocations_are_counted();
  const last_words words;
  fault_runs runs{seed, body, options};
  const auto sound = runs.run("", 0, {}, 0, no_exception);
  fault_counts counts;
  for (std::uint64_t k = 1; k <= sound.steps; ++k, ++counts.cancellations) {
    runs.run("a stop is requested before step ", k, {.cancel = k}, 0, a_cancellation);
  }
  for (std::uint64_t k = 1; k <= sound.operations; ++k, ++counts.operations) {
    runs.run("an operation fails, number ", k, {.operation = k}, 0, any_error);
  }
  for (std::uint64_t k = 1; k <= sound.allocations; ++k, ++counts.allocations) {
    runs.run("an allocation fails, number ", k, {}, k, no_memory);
  }
  counts.hash = runs.hash();
  return counts;
}

namespace {
using wall_clock = std::chrono::steady_clock;

/// Returns the number of seeds run; 0 if one failed.
std::uint64_t run_case(const char* program, const simulation_case& each, const simulated_seeds& seeds) {
  const auto start = wall_clock::now();
  try {
    const simulated_total total = simulate(seeds, each.body, each.options);
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(wall_clock::now() - start).count();
    std::printf("%s: %llu seeds, %llu steps, hash %016llx, %lld ms\n", each.name,
                static_cast<unsigned long long>(total.seeds), static_cast<unsigned long long>(total.steps),
                static_cast<unsigned long long>(total.hash), static_cast<long long>(ms));
    std::fflush(stdout);
    return total.seeds;
  } catch (const simulation_failure& failure) {
    std::fprintf(stderr, "FAILED: %s\n%sof: %s 1 1 '%s'\n", each.name, failure.what(), program, each.name);
    return 0;
  }
}
}  // namespace

int simulate_main(int argc, char** argv, std::initializer_list<simulation_case> cases) {
  simulated_seeds seeds;
  if ((argc > 1 && !read_number(argv[1], seeds.count)) || (argc > 2 && !read_number(argv[2], seeds.first)) ||
      seeds.count == 0) {
    std::fprintf(stderr, "usage: %s [SEEDS [FIRST [NAME]]], with at least one seed\n", argv[0]);
    return EXIT_FAILURE;
  }
  std::uint64_t all = 0;
  for (const simulation_case& each : cases) {
    if (argc > 3 && std::string_view(argv[3]) != each.name) continue;
    const std::uint64_t run = run_case(argv[0], each, seeds);
    if (run == 0) return EXIT_FAILURE;
    all += run;
  }
  if (all == 0) {
    std::fprintf(stderr, "no case of that name\n");
    return EXIT_FAILURE;
  }
  std::printf("in all %llu seeds\n", static_cast<unsigned long long>(all));
  return EXIT_SUCCESS;
}
}  // namespace coracle::testing
