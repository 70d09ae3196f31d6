// tests/unit/tour_count_test.cpp -- the counting behind the tour's index.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "../../tour/count.hpp"

namespace {
using named_counts = std::vector<std::pair<std::string, std::uint64_t>>;

named_counts sorted(const tour::name_table& table) {
  named_counts all;
  for (const auto& [name, times] : table.entries()) all.emplace_back(name, times);
  std::sort(all.begin(), all.end());
  return all;
}

struct counted {
  tour::text_counts counts;
  named_counts names;
  bool operator==(const counted&) const = default;
};

template <class... Pieces>
counted count(const Pieces&... pieces) {
  tour::name_table names;
  tour::text_counter counter(names);
  (counter.add(pieces), ...);
  const tour::text_counts counts = counter.finish();
  return {counts, sorted(names)};
}

bool is_white_space(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
}  // namespace

TEST_CASE("text_counter: nothing has no lines and no words") {
  CHECK(count() == counted{});
  CHECK(count(std::string()) == counted{});
}

TEST_CASE("text_counter: a last line without a newline has words but is no line") {
  const named_counts names{{"one", 1}, {"three", 1}, {"two", 1}};
  CHECK(count(std::string("one two\nthree")) == counted{{13, 1, 3}, names});
  CHECK(count(std::string("one two\nthree\n")) == counted{{14, 2, 3}, names});
}

TEST_CASE("text_counter: exactly the visible ASCII characters make a word") {
  for (int c = 0; c != 256; ++c) {
    CAPTURE(c);
    CHECK(count(std::string(1, static_cast<char>(c))).counts.words == (c > ' ' && c < 0x7f ? 1 : 0));
  }
}

TEST_CASE("text_counter: exactly the six white-space characters end a word") {
  for (int c = 0; c != 256; ++c) {
    CAPTURE(c);
    const tour::text_counts counts = count(std::string{'+', static_cast<char>(c), '+'}).counts;
    CHECK(counts.words == (is_white_space(c) ? 2 : 1));
    CHECK(counts.lines == (c == '\n' ? 1 : 0));
  }
}

TEST_CASE("text_counter: a name does not begin with a digit, keeps its case and ends at any other byte") {
  CHECK(count(std::string("x1 1x 0x1F _ Ab-ab.ab\xc3\xa9z\x01q 42")).names ==
        named_counts{{"Ab", 1}, {"_", 1}, {"ab", 2}, {"q", 1}, {"x1", 1}, {"z", 1}});
}

TEST_CASE("text_counter: a run longer than the longest name is none, wherever it is cut") {
  const std::string longest(tour::text_counter::longest_name, 'n');
  for (const std::size_t cut : {std::size_t{0}, std::size_t{1}, longest.size() - 1, longest.size()}) {
    CAPTURE(cut);
    CHECK(count(longest.substr(0, cut), longest.substr(cut)).names == named_counts{{longest, 1}});
    CHECK(count(longest.substr(0, cut), longest.substr(cut) + "n").names.empty());
  }
  CHECK(count(longest, longest, longest, std::string(" end")).names == named_counts{{"end", 1}});
}

TEST_CASE("text_counter: a text cut in two or more pieces counts as the whole") {
  const std::string text = "int main(void) {\n\treturn 42x; x42 \x01 \xff\r\n}  \n\nlast_word";
  const counted whole = count(text);
  REQUIRE(whole.counts == tour::text_counts{text.size(), 4, 8});
  for (std::size_t first = 0; first <= text.size(); ++first) {
    for (std::size_t second = first; second <= text.size(); ++second) {
      CAPTURE(first);
      CAPTURE(second);
      CHECK(count(text.substr(0, first), text.substr(first, second - first), text.substr(second)) == whole);
    }
  }
}

TEST_CASE("name_table: thousands of names keep their counts while the table grows, and add up in another") {
  std::string text;
  named_counts expected;
  for (int i = 0; i != 5000; ++i) {
    const std::string name = "n" + std::to_string(10000 + i);
    text += name + ' ' + name + ' ';
    expected.emplace_back(name, 2);
  }
  tour::name_table names;
  tour::text_counter counter(names);
  counter.add(text);
  counter.finish();
  CHECK(sorted(names) == expected);

  tour::name_table both;
  both.add(names);
  both.add(names);
  for (auto& [name, times] : expected) times = 4;
  CHECK(sorted(both) == expected);
}

TEST_CASE("name_table: names with the same hash are different names") {
  tour::name_table names;
  names.add("a", 7);
  names.add("b", 7);
  names.add("a", 7);
  CHECK(sorted(names) == named_counts{{"a", 2}, {"b", 1}});
}
