// SPDX-License-Identifier: MIT
#include "symbols.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace coracle::detail {
namespace {
/// Returns the length of a name without the suffix of link-time optimisation.
std::size_t length_without_suffix(const char* name) noexcept {
  for (const char* suffix : {".lto_priv.", ".llvm."}) {
    if (const char* const found = std::strstr(name, suffix)) return static_cast<std::size_t>(found - name);
  }
  return std::strlen(name);
}
bool ends_with(const char* name, std::size_t length, const char* end) noexcept {
  const std::size_t size = std::strlen(end);
  return length > size && std::memcmp(name + length - size, end, size) == 0;
}

/// A mapped file, which may be damaged.
struct elf_file {
  const char* bytes;
  std::size_t size;

  template <class T>
  [[nodiscard]] const T* at(std::size_t offset, std::size_t count = 1) const noexcept {
    if (offset > size || offset % alignof(T) != 0 || count > (size - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(bytes + offset);
  }
};

/// Determines the address at which the file was loaded.
bool find_bias(const elf_file& file, const mapping& code, module& to) noexcept {
  const auto* const header = file.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64)
    return false;
  const auto* const segments = file.at<Elf64_Phdr>(header->e_phoff, header->e_phnum);
  for (std::size_t i = 0; segments && i != header->e_phnum; ++i) {
    const Elf64_Phdr& each = segments[i];
    if (each.p_type != PT_LOAD || code.offset + (code.end - code.begin) <= each.p_offset ||
        code.offset >= each.p_offset + each.p_filesz || !(each.p_flags & PF_X))
      continue;
    to.bias = code.begin - code.offset + each.p_offset - each.p_vaddr;
    return true;
  }
  return false;
}

/// Finds the symbol table; a stripped file has none.
void find_table(const elf_file& file, module& to) noexcept {
  const auto* const header = file.at<Elf64_Ehdr>(0);
  const auto* const sections = file.at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
  for (std::size_t i = 0; sections && i != header->e_shnum; ++i) {
    const Elf64_Shdr& each = sections[i];
    if (each.sh_type != SHT_SYMTAB || each.sh_link >= header->e_shnum) continue;
    const Elf64_Shdr& names = sections[each.sh_link];
    const auto* const table = file.at<Elf64_Sym>(each.sh_offset, each.sh_size / sizeof(Elf64_Sym));
    const auto* const text = file.at<char>(names.sh_offset, names.sh_size);
    if (!table || !text || names.sh_size == 0 || text[names.sh_size - 1] != '\0') continue;
    to.table = table;
    to.count = each.sh_size / sizeof(Elf64_Sym);
    to.names = text;
    to.size_of_names = names.sh_size;
  }
}

/// Sorts the functions of a file by address. Without memory for that, none is found.
void sort_functions(module& in) noexcept {
  void* const memory = ::mmap(nullptr, in.count * sizeof(std::uint32_t), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  in.functions = static_cast<std::uint32_t*>(memory);
  for (std::uint32_t i = 0; i != in.count; ++i) {
    if (in.table[i].st_size != 0 && module::is_function(in.table[i]))
      in.functions[in.count_of_functions++] = i;
  }
  std::sort(in.functions, in.functions + in.count_of_functions,
            [table = in.table](std::uint32_t a, std::uint32_t b) {
              return std::pair(table[a].st_value, a) < std::pair(table[b].st_value, b);
            });
}

/// Opens the file of a mapping, and adds its path. A program that was replaced after it began is still found.
int open_file(pid_t process, const mapping& code, fixed_text<256>& path) noexcept {
  const int file = ::open(code.path, O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    path.add(code.path);
    return file;
  }
  constexpr std::string_view mark = " (deleted)";  // the kernel's
  fixed_text<64> program;
  program.add("/proc/").add_number(static_cast<std::uintptr_t>(process)).add("/exe");
  char target[1024];
  const ssize_t size = ::readlink(program.c_str(), target, sizeof target);
  const std::string_view name(target, size > 0 ? static_cast<std::size_t>(size) : 0);
  if (name != code.path || !name.ends_with(mark)) return -1;
  path.add(target, name.size() - mark.size());
  return ::open(program.c_str(), O_RDONLY | O_CLOEXEC);
}

/// Maps the file of a mapping with code. Returns false if it is not a file that can be read.
bool load(pid_t process, const mapping& code, module& to) noexcept {
  to.path.clear();
  const int descriptor = open_file(process, code, to.path);
  if (descriptor < 0) return false;
  struct stat status;
  void* mapped = MAP_FAILED;
  if (::fstat(descriptor, &status) == 0 && status.st_size > 0)
    mapped = ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
  ::close(descriptor);
  if (mapped == MAP_FAILED) return false;
  to.begin = code.begin;
  to.end = code.end;
  to.file = mapped;
  to.size_of_file = static_cast<std::size_t>(status.st_size);
  const elf_file file{static_cast<const char*>(mapped), to.size_of_file};
  if (find_bias(file, code, to)) find_table(file, to);
  return true;
}
}  // namespace

role role_of(const char* symbol) noexcept {
  const std::size_t length = length_without_suffix(symbol);
  if (ends_with(symbol, length, ".resume") || ends_with(symbol, length, ".actor")) {
    // The probe of core/transfer.hpp has ended before main(), but leaves a copy of a frame's words on the
    // stack.
    return std::strstr(symbol, "16probe_tail_calls") ? role::none : role::resume;
  }
  if (ends_with(symbol, length, ".destroy") || ends_with(symbol, length, ".cleanup")) return role::destroy;
  if (std::strstr(symbol, "basic_callback_frameI")) return role::callback;
  if (std::strstr(symbol, "12io_operation7stopped")) return role::stop_io;
  if (std::strstr(symbol, "24timed_schedule_operation7stopped")) return role::stop_timer;
  if (std::strstr(symbol, "6detail16callback_awaiterI") && std::strstr(symbol, "E14stop_requestedE"))
    return role::stop_callback;
  const bool is_stop = std::strstr(symbol, "14stoppable_waitI") && std::strstr(symbol, "E14stop_requestedI");
  return is_stop ? role::stop : role::none;
}

fixed_text<65> build_id_of(const module& of) noexcept {
  fixed_text<65> digits;
  const elf_file file{static_cast<const char*>(of.file), of.size_of_file};
  const auto* const header = file.at<Elf64_Ehdr>(0);
  const auto* const segments = header ? file.at<Elf64_Phdr>(header->e_phoff, header->e_phnum) : nullptr;
  for (std::size_t i = 0; segments && i != header->e_phnum; ++i) {
    if (segments[i].p_type != PT_NOTE) continue;
    std::size_t at = segments[i].p_offset;
    const std::size_t end = at + segments[i].p_filesz;
    while (const auto* const note = at < end ? file.at<Elf64_Nhdr>(at) : nullptr) {
      const std::size_t contents = at + sizeof *note + (note->n_namesz + 3) / 4 * 4;
      const auto* const bytes = file.at<unsigned char>(contents, note->n_descsz);
      const auto* const name = file.at<char>(at + sizeof *note, note->n_namesz);
      if (bytes && name && note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof ELF_NOTE_GNU &&
          std::memcmp(name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0) {
        for (std::size_t byte = 0; byte != note->n_descsz; ++byte)
          digits.add_number(bytes[byte] >> 4, 16).add_number(bytes[byte] & 15, 16);
        return digits;
      }
      at = contents + (note->n_descsz + 3) / 4 * 4;
    }
  }
  return digits;
}

symbols::symbols(pid_t process) noexcept {
  for_each_mapping(process, [this, process](const mapping& each) {
    if (!each.is_executable || each.path[0] != '/' || count_ == most) return;
    if (load(process, each, modules_[count_])) ++count_;
  });
}
symbols::~symbols() {
  for (std::size_t i = 0; i != count_; ++i) {
    module& each = modules_[i];
    if (each.functions) ::munmap(each.functions, each.count * sizeof(std::uint32_t));
    ::munmap(each.file, each.size_of_file);
  }
}

bool symbols::has_any() const noexcept {
  for (const module& each : *this) {
    if (each.table) return true;
  }
  return false;
}

module* symbols::containing(std::uintptr_t address) noexcept {
  for (std::size_t i = 0; i != count_; ++i) {
    if (address >= modules_[i].begin && address < modules_[i].end) return &modules_[i];
  }
  return nullptr;
}

const symbols::known& symbols::look_up(std::uintptr_t address, module& in) noexcept {
  known& place = recent_[(address >> 4) % (sizeof recent_ / sizeof *recent_)];
  if (place.address == address) return place;
  place = known{address, {nullptr, 0, &in}, role::none};
  if (in.count != 0 && !in.functions) sort_functions(in);
  const auto begin_of = [&in](std::uint32_t index) { return in.table[index].st_value + in.bias; };
  const std::uint32_t* each =
      std::upper_bound(in.functions, in.functions + in.count_of_functions, address,
                       [&](std::uintptr_t wanted, std::uint32_t index) { return wanted < begin_of(index); });
  // A function may have several names; one that tells its role is the most informative.
  for (const std::uint32_t* const last = each;
       each != in.functions && begin_of(each[-1]) == begin_of(last[-1]) && place.is == role::none; --each) {
    const Elf64_Sym& found = in.table[each[-1]];
    const std::uintptr_t begin = begin_of(each[-1]);
    if (address - begin >= found.st_size) continue;
    const char* const name = in.name_of(found);
    if (begin == address) place.is = role_of(name);
    if (!place.symbol.name || place.is != role::none) place.symbol = {name, begin, &in};
  }
  return place;
}
function_symbol symbols::at(std::uintptr_t address) noexcept {
  module* const in = containing(address);
  return in ? look_up(address, *in).symbol : function_symbol{};
}
function_symbol symbols::variable_at(std::uintptr_t address) const noexcept {
  for (const module& in : *this) {
    for (std::size_t i = 0; i != in.count; ++i) {
      const Elf64_Sym& each = in.table[i];
      const std::uintptr_t begin = each.st_value + in.bias;
      if (address - begin < each.st_size && ELF64_ST_TYPE(each.st_info) == STT_OBJECT)
        return {in.name_of(each), begin, &in};
    }
  }
  return {};
}
role symbols::role_at(std::uintptr_t address) noexcept {
  module* const in = containing(address);
  return in ? look_up(address, *in).is : role::none;
}
}  // namespace coracle::detail
