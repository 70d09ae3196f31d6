// SPDX-License-Identifier: MIT
#include <coracle/base/check.hpp>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/io/detail/transfer_count.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/tls/detail/connection.hpp>
#include <coracle/tls/stream.hpp>
#include <coracle/utility/on_scope_exit.hpp>

#include "engine.hpp"

namespace coracle::tls::detail {
template class carried<net::socket>;

namespace {
/// How much the other side can make this one answer without reading the answers.
constexpr std::size_t most_answers = 64 * 1024;

/// Requires: `sending` is locked.
task<> send(engine& tls, carrier& below) {
  for (auto rest = tls.unsent(); !rest.empty(); rest = tls.unsent()) {
    task<std::size_t> writing = below.write_some(rest);
    const std::size_t size = co_await std::move(writing);
    CORACLE_REQUIRE(size != 0 && size <= rest.size(), coracle::detail::takes_a_wrong_number);
    tls.sent(size);
  }
}

std::string subject_of(const X509* certificate) {
  if (!certificate) return {};
  const owned_bio text{BIO_new(BIO_s_mem())};
  constexpr unsigned long flags = XN_FLAG_RFC2253 & ~static_cast<unsigned long>(ASN1_STRFLGS_ESC_MSB);
  if (!text || X509_NAME_print_ex(text.get(), X509_get_subject_name(certificate), 0, flags) < 0)
    throw std::bad_alloc();
  char* first = nullptr;
  const long size = BIO_get_mem_data(text.get(), &first);
  return {first, static_cast<std::size_t>(size)};
}

void require_handshake(const engine& tls) {
  CORACLE_REQUIRE(tls.is_established() || tls.has_failed(),
                  "a tls::stream was used before its handshake: co_await stream.handshake() first");
}
}  // namespace

/// The reader and the writers use the engine by turns, as they run on one strand. What they wait for is here.
struct connection::state {
  state(const context& common, std::string_view host) : tls(common, host) {}

  task<> flush(carrier& below) {
    const async_mutex_lock lock = co_await sending.scoped_lock_async();
    co_await send(tls, below);
  }
  /// Throws what the engine has failed with. First tells the other side, unless a writer is doing so.
  task<> fail(carrier& below) {
    if (sending.try_lock()) {
      const async_mutex_lock lock = async_mutex_lock::adopt(sending);
      static_cast<void>(co_await as_outcome(send(tls, below)));
    }
    tls.raise();
  }
  /// Returns when there is more input, or may be: use the engine again. Requires: it needs input.
  task<> receive(carrier& below) {
    if (is_receiving) {
      // A reader, or a writer in the middle of a message. Stopped, it leaves the rest to this one.
      received.reset();
      co_await received;
      co_return;
    }
    is_receiving = true;
    const auto over = on_scope_exit([this]() noexcept {
      is_receiving = false;
      received.set();
    });
    task<std::size_t> reading = below.read_some(tls.room());
    const std::size_t size = co_await std::move(reading);
    if (size == 0) throw error(errc::truncated, make_error_code(errc::truncated).message());
    tls.received(size);
  }
  /// Until the handshake is over, or a message of its protocol that has come in part is complete.
  task<> shake_hands(carrier& below) {
    for (;;) {
      const progress how = tls.handshake();
      if (how == progress::failed) co_await fail(below);
      if (how == progress::ended) throw error(errc::protocol_error, "the other side ended the handshake");
      co_await flush(below);
      if (how == progress::done) co_return;
      co_await receive(below);
    }
  }

  engine tls;
  async_mutex reads;          // for the program
  async_mutex sending;        // to the carrier
  bool is_receiving = false;  // from the carrier
  async_manual_reset_event received{true};
};

connection::connection(const context& common, std::string_view host)
    : state_(std::make_unique<state>(common, host)) {}
connection::connection(connection&& other) noexcept = default;
connection& connection::operator=(connection&& other) noexcept = default;
connection::~connection() = default;

library_task<> connection::handshake(carrier& below) {
  state& mine = *state_;
  const async_mutex_lock lock = co_await mine.reads.scoped_lock_async();
  co_await mine.shake_hands(below);
}

library_task<std::size_t> connection::read_some(carrier& below, mutable_buffer to) {
  state& mine = *state_;
  require_handshake(mine.tls);
  const async_mutex_lock lock = co_await mine.reads.scoped_lock_async();
  std::size_t got = 0;
  for (;;) {
    const progress how = mine.tls.read(to, got);
    if (how == progress::failed) co_await mine.fail(below);
    if (how != progress::needs_input) co_return got;
    // What reading has to answer waits for a writer, so that it does not wait for room itself.
    if (mine.tls.unsent_size() > most_answers) co_await mine.flush(below);
    co_await mine.receive(below);
  }
}

library_task<std::size_t> connection::write_some(carrier& below, const_buffer bytes) {
  state& mine = *state_;
  require_handshake(mine.tls);
  std::size_t taken = 0;
  for (;;) {
    {
      const async_mutex_lock lock = co_await mine.sending.scoped_lock_async();
      co_await send(mine.tls, below);  // what an earlier call had to leave
      if (mine.tls.is_shut_down())
        throw std::system_error(std::make_error_code(std::errc::broken_pipe), "write after shutdown()");
      if (bytes.size() == 0) co_return taken;
      const progress how = mine.tls.write(bytes, taken);
      auto sent = co_await as_outcome(send(mine.tls, below));
      if (how == progress::failed) mine.tls.raise();
      if (how == progress::done) {
        // Stopped, what is left is for the next call, as the bytes are part of the stream.
        if (!sent.is_cancelled()) std::move(sent).get();
        co_return taken;
      }
    }
    co_await mine.shake_hands(below);
  }
}

library_task<> connection::send_all(carrier& below, const_buffer bytes, std::size_t* sent) {
  state& mine = *state_;
  std::size_t local = 0;
  std::size_t& done = coracle::detail::transfer_count(sent, local, bytes.size());
  while (done != bytes.size()) {
    task<std::size_t> writing = write_some(below, {bytes.bytes().data() + done, bytes.size() - done});
    const std::size_t more = co_await std::move(writing);
    done += more;
  }
  if (mine.tls.unsent_size() != 0) co_await mine.flush(below);
}

library_task<> connection::shutdown(carrier& below) {
  state& mine = *state_;
  if (!mine.tls.is_established()) co_return;
  const async_mutex_lock lock = co_await mine.sending.scoped_lock_async();
  if (mine.tls.shutdown() == progress::failed) mine.tls.raise();
  co_await send(mine.tls, below);
}

std::string_view connection::alpn() const noexcept {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(native_handle(), &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}
std::string_view connection::protocol() const noexcept { return SSL_get_version(native_handle()); }
std::string connection::peer_subject() const {
  return subject_of(SSL_get0_peer_certificate(native_handle()));
}
ssl_st* connection::native_handle() const noexcept { return state_->tls.native_handle(); }
}  // namespace coracle::tls::detail
