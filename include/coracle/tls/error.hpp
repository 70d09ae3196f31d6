// coracle/tls/error.hpp -- why TLS failed.
// SPDX-License-Identifier: MIT
#pragma once
#include <stdexcept>
#include <string>
#include <system_error>

namespace coracle::tls {
/// The kinds of failure, as codes of error_category().
enum class errc {
  bad_configuration = 1,  ///< a certificate, key or name that a context or a stream was given is unusable
  certificate_rejected,   ///< this side does not accept the certificate of the other, or got none
  alert_received,         ///< the other side refuses to go on, such as because of this side's certificate
  truncated,              ///< the connection ended without the end of the TLS stream: it may have been cut
  protocol_error  ///< the other side does not speak TLS, or no version in common, or violates the protocol
};

const std::error_category& error_category() noexcept;
inline std::error_code make_error_code(errc code) noexcept {
  return {static_cast<int>(code), error_category()};
}

/// Thrown where TLS fails; the errors of the stream below are thrown as they are.
///
///     catch (const coracle::tls::error& failed) {
///       if (failed.code() != coracle::tls::errc::truncated) log(failed.what());
///     }
class error : public std::system_error {
 public:
  error(errc code, const std::string& what) : system_error(make_error_code(code)), what_(what) {}
  /// For people, such as "the certificate is not accepted: hostname mismatch".
  [[nodiscard]] const char* what() const noexcept override;

 private:
  std::runtime_error what_;  // a string whose copies do not throw
};
}  // namespace coracle::tls

template <>
struct std::is_error_code_enum<coracle::tls::errc> : std::true_type {};
