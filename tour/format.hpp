// tour/format.hpp -- figures and foreign text in a form that people can read.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tour {
/// 1234567 as "1,234,567".
std::string grouped(std::uint64_t number);
/// With `decimals` digits behind the point.
std::string fixed(double number, int decimals);
/// A duration given in nanoseconds, in the unit that suits it: "3.4 ns", "12 ms".
std::string duration(double nanoseconds);
/// "312 bytes", "8.0 MiB".
std::string byte_size(double bytes);
/// "0x7ffc01234567".
std::string address(std::uintptr_t place);
std::string address(const void* place);
/// "3.1 times".
std::string times(double ratio);
/// "1 word", "3 words".
std::string plural(std::uint64_t number, std::string_view noun);
/// Whether this text of a table's cell is a figure, which stands at the right. An address is none.
bool is_number(std::string_view cell);

/// Text from outside with control characters and whatever is not UTF-8 written as \xNN.
std::string printable(std::string_view foreign);
/// Terminal columns that printable text takes.
std::size_t display_width(std::string_view text);
/// Cut or filled up to exactly `width` columns.
std::string fitted(std::string_view text, std::size_t width);
std::string fitted_right(std::string_view text, std::size_t width);
/// Lines of at most `width` columns, broken at blanks where there are any.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);
/// `piece` again and again.
std::string repeated(std::string_view piece, std::size_t count);
}  // namespace tour
