// SPDX-License-Identifier: MIT
#include <netdb.h>

#include <algorithm>
#include <cerrno>
#include <coracle/exec/blocking.hpp>
#include <coracle/net/resolve.hpp>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "socket_address.hpp"

namespace coracle::net {
namespace {
class category final : public std::error_category {
  const char* name() const noexcept override { return "resolver"; }
  std::string message(int error) const override { return ::gai_strerror(error); }
};

/// `cause`: the errno of getaddrinfo(3). If that finds no free descriptor, it may say that there is no such
/// name.
[[noreturn]] void fail(int error, const std::string& host, const std::string& service, int cause = 0) {
  const std::string what = error == EAI_SERVICE ? "cannot find the port of \"" + service + "\""
                                                : "cannot find the address of \"" + host + "\"";
  const bool is_of_system = error == EAI_SYSTEM || cause == EMFILE || cause == ENFILE;
  if (is_of_system) throw std::system_error(cause, std::system_category(), what);
  throw std::system_error(error, resolver_category(), what);
}

/// The C library takes any number, and cuts it to 16 bits.
bool is_number_of_no_port(const std::string& service) noexcept {
  constexpr long most = 65535;
  char* end = nullptr;
  const long number = std::strtol(service.c_str(), &end, 10);
  return end != service.c_str() && *end == '\0' && (number < 0 || number > most);
}

/// Alternates between the families, and keeps the order within each.
std::vector<ip_endpoint> interleave_families(const std::vector<ip_endpoint>& all) {
  std::vector<ip_endpoint> first, other, both;
  for (const ip_endpoint& each : all)
    (each.is_ipv4() == all.front().is_ipv4() ? first : other).push_back(each);
  for (std::size_t i = 0; i != std::max(first.size(), other.size()); ++i) {
    if (i < first.size()) both.push_back(first[i]);
    if (i < other.size()) both.push_back(other[i]);
  }
  return both;
}

/// The C library would take the part before the NUL.
bool has_nul(const std::string& name) noexcept { return name.find('\0') != name.npos; }

std::vector<ip_endpoint> look_up(const std::string& host, const std::string& service) {
  if (has_nul(host)) fail(EAI_NONAME, host, service);
  if (has_nul(service) || is_number_of_no_port(service)) fail(EAI_SERVICE, host, service);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  errno = 0;
  if (const int error = ::getaddrinfo(host.c_str(), service.c_str(), &wanted, &list); error != 0) {
    fail(error, host, service, errno);
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner{list, &::freeaddrinfo};
  std::vector<ip_endpoint> found;
  for (const addrinfo* each = list; each; each = each->ai_next) {
    if (each->ai_family != AF_INET && each->ai_family != AF_INET6) continue;
    sockaddr_storage address{};
    std::memcpy(&address, each->ai_addr, each->ai_addrlen);
    found.push_back(coracle::detail::from_sockaddr(address));
  }
  if (found.empty()) fail(EAI_NONAME, host, service);
  return interleave_families(found);
}
}  // namespace

const std::error_category& resolver_category() noexcept {
  static const category instance;
  return instance;
}

coracle::detail::library_task<std::vector<ip_endpoint>> detail::resolve_body(std::string host,
                                                                             std::string service) {
  const auto call = [&] { return look_up(host, service); };
  std::vector<ip_endpoint> found = co_await blocking(call);
  co_return found;
}
}  // namespace coracle::net
