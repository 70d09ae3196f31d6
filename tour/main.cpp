// tour/main.cpp -- runs the stations in order and shows what they find out.
// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <thread>

#include "clock.hpp"
#include "format.hpp"
#include "html_writer.hpp"
#include "json_writer.hpp"
#include "options.hpp"
#include "screen.hpp"
#include "stations.hpp"
#include "text_writer.hpp"

namespace {
using namespace tour;

std::string compiler() {
#if defined(__clang__)
  std::string text = "clang " + std::to_string(__clang_major__) + "." + std::to_string(__clang_minor__);
#else
  std::string text = "g++ " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__);
#endif
#if defined(__OPTIMIZE__)
  return text + ", optimised";
#else
  return text + ", not optimised";
#endif
}

bool wants_colours(bool terminal) {
  const char* const refused = std::getenv("NO_COLOR");
  return terminal && !(refused && *refused);
}

void run_stations(report& whole, const options& asked, const settings& given, text_writer& out) {
  std::size_t number = 0;
  for (const station& each : stations) {
    ++number;
    if (asked.only && *asked.only != each.name) continue;
    whole.sections.emplace_back(std::string(each.name), std::string(each.title),
                                [&out](const item& shown) { out.show(shown); });
    out.begin_section(number, whole.sections.back().name(), whole.sections.back().title());
    each.show(whole.sections.back(), given);
  }
}

bool write_file(const std::filesystem::path& file, const std::string& contents) {
  std::ofstream out(file, std::ios::trunc);
  out << contents;
  out.close();
  if (!out) std::fprintf(stderr, "coracle-tour: writing %s failed\n", printable(file.string()).c_str());
  return static_cast<bool>(out);
}

int run_tour(const options& asked) {
  const bool terminal = ::isatty(STDOUT_FILENO) != 0;
  settings given;
  given.interactive = terminal;
  if (asked.tree) given.tree = *asked.tree;
  given.width = page_width();
  text_writer out(given.width, wants_colours(terminal));
  report whole;
  whole.compiler = compiler();
  whole.hardware_threads = std::thread::hardware_concurrency();
  const stopwatch watch;
  out.begin(whole);
  run_stations(whole, asked, given, out);
  whole.seconds = watch.seconds();
  out.end(whole);
  bool written = true;
  if (asked.json) written &= write_file(*asked.json, to_json(whole));
  if (asked.html) written &= write_file(*asked.html, to_html(whole));
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    std::fputs("coracle-tour: the output could not be written\n", stderr);
    written = false;
  }
  return written && whole.claims(false) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
}  // namespace

int main(int count, char** arguments) try {
  const options asked = parse_options({arguments + 1, arguments + count});
  if (asked.help) {
    std::fputs(help_text().c_str(), stdout);
    return EXIT_SUCCESS;
  }
  return run_tour(asked);
} catch (const bad_arguments& wrong) {
  std::fprintf(stderr, "coracle-tour: %s\n", wrong.what());
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "coracle-tour: %s\n", printable(error.what()).c_str());
  return EXIT_FAILURE;
}
