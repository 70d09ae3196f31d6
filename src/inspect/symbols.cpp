// SPDX-License-Identifier: MIT
#include "symbols.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <initializer_list>

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

/// Maps the file of a mapping with code. Returns false if it is not a file that can be read.
bool load(const mapping& code, module& to) noexcept {
  const int descriptor = ::open(code.path, O_RDONLY | O_CLOEXEC);
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
  to.path.add(code.path);
  const elf_file file{static_cast<const char*>(mapped), to.size_of_file};
  if (find_bias(file, code, to)) find_table(file, to);
  return true;
}
}  // namespace

role role_of(const char* symbol) noexcept {
  const std::size_t length = length_without_suffix(symbol);
  if (ends_with(symbol, length, ".resume") || ends_with(symbol, length, ".actor")) return role::resume;
  if (ends_with(symbol, length, ".destroy") || ends_with(symbol, length, ".cleanup")) return role::destroy;
  if (std::strstr(symbol, "basic_callback_frameI")) return role::callback;
  const bool is_stop = std::strstr(symbol, "14stoppable_waitI") && std::strstr(symbol, "E14stop_requestedI");
  return is_stop ? role::stop : role::none;
}

symbols::symbols(pid_t process) noexcept {
  for_each_mapping(process, [this](const mapping& each) {
    if (!each.is_executable || each.path[0] != '/' || count_ == most) return;
    if (load(each, modules_[count_])) ++count_;
  });
}
symbols::~symbols() {
  for (std::size_t i = 0; i != count_; ++i) ::munmap(modules_[i].file, modules_[i].size_of_file);
}

bool symbols::has_any() const noexcept {
  for (const module& each : *this) {
    if (each.table) return true;
  }
  return false;
}

const module* symbols::containing(std::uintptr_t address) const noexcept {
  for (const module& each : *this) {
    if (address >= each.begin && address < each.end) return &each;
  }
  return nullptr;
}

const symbols::known& symbols::look_up(std::uintptr_t address, const module& in) noexcept {
  known& place = recent_[(address >> 4) % (sizeof recent_ / sizeof *recent_)];
  if (place.address == address) return place;
  place = known{address, {nullptr, 0, &in}, role::none};
  for (std::size_t i = 0; i != in.count; ++i) {
    const Elf64_Sym& each = in.table[i];
    const std::uintptr_t begin = each.st_value + in.bias;
    if (address < begin || address - begin >= each.st_size || !module::is_function(each)) continue;
    place.symbol.begin = begin;
    place.symbol.name = in.name_of(each);
    if (begin == address) place.is = role_of(place.symbol.name);
    if (place.is != role::none) break;  // a function may have several names; this is the most informative
  }
  return place;
}
function_symbol symbols::at(std::uintptr_t address) noexcept {
  const module* const in = containing(address);
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
  const module* const in = containing(address);
  return in ? look_up(address, *in).is : role::none;
}
}  // namespace coracle::detail
