// SPDX-License-Identifier: MIT
#include <coracle/tls/error.hpp>

namespace coracle::tls {
namespace {
class category final : public std::error_category {
  const char* name() const noexcept override { return "coracle.tls"; }
  std::string message(int code) const override {
    switch (static_cast<errc>(code)) {
      case errc::bad_configuration:
        return "unusable certificate, key or name";
      case errc::certificate_rejected:
        return "the certificate is not accepted";
      case errc::alert_received:
        return "refused by the other side";
      case errc::truncated:
        return "the connection ended without the end of the TLS stream";
      case errc::protocol_error:
        return "TLS failed";
    }
    return "unknown error";
  }
};
}  // namespace

const std::error_category& error_category() noexcept {
  static const category one;
  return one;
}

const char* error::what() const noexcept { return what_.what(); }
}  // namespace coracle::tls
