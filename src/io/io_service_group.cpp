// SPDX-License-Identifier: MIT
#include <coracle/base/check.hpp>
#include <coracle/base/thread.hpp>
#include <coracle/io/io_service_group.hpp>
#include <thread>

#include "system_error.hpp"

namespace coracle {
struct io_service_group::member {
  member() {
    const int error = detail::start_thread(runner, &run, this);
    if (error != 0) detail::throw_error(error, "cannot start a thread of an io_service_group");
  }
  member(const member&) = delete;
  member& operator=(const member&) = delete;
  ~member() {
    io.stop();
    detail::join_thread(runner);
  }
  static void* run(void* its_member) noexcept {
    static_cast<member*>(its_member)->io.process_events();
    return nullptr;
  }

  io_service io;
  detail::thread_handle runner;
};

io_service_group::io_service_group(std::size_t threads) {
  CORACLE_REQUIRE(threads != 0, "an io_service_group without threads: nothing would run on it");
  members_.reserve(threads);
  while (members_.size() != threads) members_.push_back(std::make_unique<member>());
}
io_service_group::~io_service_group() = default;

io_service& io_service_group::operator[](std::size_t index) noexcept { return members_[index]->io; }

std::size_t io_service_group::processors() noexcept {
  const std::size_t found = std::thread::hardware_concurrency();
  return found != 0 ? found : 1;
}
}  // namespace coracle
