// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "disk.hpp"

namespace coracle::detail::simulated {
class host;

class open_directory final : public on_disk {
 public:
  open_directory(host& its_host, disk& its_disk, std::shared_ptr<folder> its_folder)
      : on_disk(its_disk), host_(its_host), folder_(std::move(its_folder)) {}

  std::int64_t try_now(io_request& request) override;
  std::int64_t fault(const io_request& request) override;
  [[nodiscard]] const node& what() const noexcept override { return *folder_; }
  [[nodiscard]] const std::shared_ptr<folder>& its_folder() const noexcept { return folder_; }

  int status(const char* path, int flags, void* about) const;
  /// As getdents64(2). The order of the names is drawn from the seed.
  std::int64_t read_names(void* to, std::size_t size);

 private:
  void list();

  host& host_;
  const std::shared_ptr<folder> folder_;
  std::vector<std::pair<std::string, std::shared_ptr<node>>> listed_;  // when the first name was read
  std::size_t read_ = 0;
  bool is_listed_ = false;
};
}  // namespace coracle::detail::simulated
