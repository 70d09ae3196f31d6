// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/callback_frame.hpp>
#include <coracle/core/timer_service.hpp>
#include <cstdint>
#include <list>
#include <map>
#include <memory>

#include "../../io/io_backend.hpp"
#include "host.hpp"

namespace coracle::detail::simulated {
/// Executes the operations of a simulated io_service, and processes its events one by one, as steps of the
/// simulation.
class simulated_backend final : public io_backend {
 public:
  simulated_backend(io_loop& loop, host& its_host);
  ~simulated_backend() override;

  io_record& attach(int fd, io_descriptor_kind kind) override;
  void detach(io_record& record) noexcept override;
  [[nodiscard]] std::size_t attached() noexcept override { return records_.size(); }
  bool submit(io_request& request) noexcept override;
  void deliver(io_request& request) noexcept override;
  void cancel(io_request& request) noexcept override;
  bool withdraw(io_request& request) noexcept override;
  signals poll(bool wait, completions& completed) noexcept override;
  void wake() noexcept override;
  void set_timer(std::uint64_t time) noexcept override;

 private:
  struct record final : io_record, readiness {
    void may_be_read() override { its_backend->ready(reading); }
    void may_be_written() override { its_backend->ready(writing); }

    simulated_backend* its_backend = nullptr;
    std::list<record>::iterator place;
    std::shared_ptr<descriptor> what;
    bool is_file = false;
    intrusive_list<io_event> reading, writing;
    std::size_t with_device = 0;
  };
  /// Posted to the simulation while anything is ready here.
  struct turn : resumption, callback_frame {
    explicit turn(simulated_backend& its_owner) noexcept : callback_frame(&run, nullptr), owner(its_owner) {
      resumption::handle = callback_frame::handle();
    }
    static void run(callback_frame* self);
    simulated_backend& owner;
    bool is_posted = false;
  };
  struct alarm : timer {
    explicit alarm(simulated_backend& its_owner) noexcept : timer(&rings), owner(its_owner) {}
    static void rings(timer& self) noexcept;
    simulated_backend& owner;
  };

  static record& record_of(const io_request& request) noexcept {
    return static_cast<record&>(*request.record);
  }
  static intrusive_list<io_event>& queue_of(const io_request& request) noexcept;
  static std::int64_t try_now(io_request& request);
  bool submit_file(io_request& request, int failure);
  static void carry_out(io_request& request);
  void device_ends(std::uint64_t number);
  bool take_from_device(const io_request& request) noexcept;
  void ready(intrusive_list<io_event>& queue);
  void finish(io_request& request) noexcept;
  void note(const io_request& request) noexcept;
  void post_turn() noexcept;

  io_loop& loop_;
  host& host_;
  std::list<record> records_;
  std::map<std::uint64_t, io_request*> with_device_;  // in the order in which they were begun
  std::uint64_t next_with_device_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  signals seen_;
  turn turn_{*this};
  alarm alarm_{*this};
};
}  // namespace coracle::detail::simulated
