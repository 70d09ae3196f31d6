// SPDX-License-Identifier: MIT
#include <coracle/core/error_group.hpp>
#include <coracle/io/io_result.hpp>

namespace coracle {
std::error_code error_code_of(const std::exception_ptr& error) noexcept {
  if (!error) return {};
  try {
    std::rethrow_exception(error);
  } catch (const std::system_error& its) {
    return its.code();
  } catch (const error_group& group) {
    for (const std::exception_ptr& each : group.errors()) {
      if (!error_code_of(each)) return {};
    }
    return error_code_of(group.errors().front());
  } catch (...) {
    return {};
  }
}
}  // namespace coracle
