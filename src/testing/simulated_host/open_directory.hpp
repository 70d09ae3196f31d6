// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "disk.hpp"

namespace coracle::detail::simulated {
class host;

/// A directory is a prefix of names: each exists, and none is ever created or removed.
class open_directory final : public on_disk {
 public:
  open_directory(host& its_host, disk& its_disk, const std::string& path)
      : on_disk(its_disk), host_(its_host), prefix_(path.empty() || path == "." ? "" : path + "/") {}

  std::int64_t try_now(io_request& request) override;
  std::int64_t fault(const io_request& request) override;

 private:
  [[nodiscard]] std::string name(const void* path) const;
  int status(const std::string& of, void* about) const;

  host& host_;
  const std::string prefix_;
};
}  // namespace coracle::detail::simulated
