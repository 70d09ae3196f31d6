// SPDX-License-Identifier: MIT
#include "mutation.hpp"

#include <array>
#include <cstring>
#include <optional>

#include "trace.hpp"

namespace coracle::testing::model {
namespace {
/// Returns the next weaker orders that this kind of access can have.
std::vector<std::memory_order> weaker_than(std::memory_order order, access what) {
  using enum std::memory_order;
  if (order == seq_cst && what == access::load) return {acquire};
  if (order == seq_cst && what == access::store) return {release};
  if (order == seq_cst) return {acq_rel};
  if (order == acq_rel) return {acquire, release};
  if (order == acquire || order == release) return {relaxed};
  return {};
}

/// Places by the address of the file name, which is cheap to compare; the same place may occur twice.
struct met_place {
  const char* file = nullptr;
  const char* function = nullptr;
  std::uint32_t line = 0, column = 0;
  access what = access::load;
  std::memory_order order = std::memory_order_relaxed;
};
constexpr std::size_t most_places = 4096;
std::array<met_place, most_places> met;
std::optional<model_mutant> in_force;

void meet(access what, std::memory_order order, const site& where) {
  const auto key = where.line() * 131U + where.column() * 17U + static_cast<unsigned>(what) * 5U +
                   static_cast<unsigned>(order);
  for (std::size_t i = key % most_places;; i = (i + 1) % most_places) {
    met_place& here = met[i];
    if (!here.file) {
      here = {where.file_name(), where.function_name(), where.line(), where.column(), what, order};
      return;
    }
    if (here.line == where.line() && here.column == where.column() && here.what == what &&
        here.order == order && here.file == where.file_name()) {
      return;
    }
  }
}
bool is_at(const model_place& place, access what, std::memory_order order, const site& where) {
  return place.line == where.line() && place.column == where.column() && place.what == what &&
         place.order == order && place.file == where.file_name();
}
}  // namespace

std::string model_mutant::text() const {
  constexpr std::array names{"load", "store", "change", "fence", "fence of every thread", "park", "unpark"};
  const std::string what = names[static_cast<std::size_t>(at.what)];
  if (how == mutation::weaker) return what + ": " + name_of(at.order) + " -> " + name_of(order);
  if (how == mutation::split) return what + ": not atomic";
  return what + (at.what == access::park ? ": does not look at the word" : ": without effect");
}

std::vector<model_mutant> mutants_of(const model_place& place) {
  std::vector<model_mutant> result;
  const bool has_order =
      place.what != access::fence_everywhere && place.what != access::park && place.what != access::unpark;
  if (has_order) {
    for (const std::memory_order each : weaker_than(place.order, place.what))
      result.push_back({place, mutation::weaker, each});
  }
  if (place.what == access::change) result.push_back({place, mutation::split, place.order});
  if (place.what != access::load) result.push_back({place, mutation::dropped, place.order});
  return result;
}

void model_mutation::begin_to_collect() {
  met = {};
  active_ = true;
}
std::vector<model_place> model_mutation::end_to_collect() {
  active_ = false;
  std::vector<model_place> result;
  for (const met_place& each : met) {
    if (!each.file) continue;
    model_place place{each.file, each.function, each.line, each.column, each.what, each.order};
    bool known = false;
    for (const model_place& other : result) known = known || other == place;
    if (!known) result.push_back(std::move(place));
  }
  return result;
}
void model_mutation::begin(const model_mutant& mutant) {
  in_force = mutant;
  accesses_ = 0;
  active_ = true;
}

std::memory_order model_mutation::order_in_force(access what, std::memory_order order, const site& where) {
  return in_force && is_at(in_force->at, what, order, where) ? in_force->order : order;
}
mutated_access model_mutation::look_closely(access what, std::memory_order order, const site& where) {
  if (!in_force) {
    meet(what, order, where);
    return {order};
  }
  accesses_ = accesses_ + 1;
  if (!is_at(in_force->at, what, order, where)) return {order};
  return {in_force->order, in_force->how};
}
}  // namespace coracle::testing::model
