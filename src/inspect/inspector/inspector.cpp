// SPDX-License-Identifier: MIT
#include <coracle/inspect/inspector.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>

#include "server.hpp"

namespace coracle {
inspector::inspector(const std::string& where) : server_(new detail::inspector_server(where)) {}
inspector::~inspector() { delete server_; }
const std::string& inspector::url() const noexcept { return server_->url(); }

namespace {
/// Returns the one that the environment asks for, or null.
std::unique_ptr<inspector> from_environment() noexcept {
  const char* const where = ::secure_getenv("CORACLE_INSPECT");  // none for a set-user-ID program
  if (!where || !*where) return nullptr;
  try {
    auto started = std::make_unique<inspector>(where);
    std::fprintf(stderr, "coracle: inspect this program at %s\n", started->url().c_str());
    return started;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return nullptr;
  }
}
}  // namespace
}  // namespace coracle

/// coracle::inspect has the linker ask for this name, so that it links this file into each program.
extern "C" {
extern const std::unique_ptr<coracle::inspector> coracle_inspector_of_environment;
const std::unique_ptr<coracle::inspector> coracle_inspector_of_environment = coracle::from_environment();
}
