# coracle_compile_together(RESULT COUNT FILE... [PREFIX prefix]): sets the result to files each of which includes
# COUNT of those given, every one in a namespace of its own, prefix and name, so that what they have in common is
# compiled once. It takes a quarter less time with -O2, and two fifths less with -O0. What has to stand outside of a
# namespace, or has flags of its own, stays a file of its own.
function(coracle_compile_together result count)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "PREFIX" "")
  set(alone "^#define (CORACLE|DOCTEST)|^namespace (std|coracle)|^template <>$|^extern |^void\\*? operator |struct std::|COUNT_ALLOCATIONS")
  set(sources)
  set(members)
  foreach(source IN LISTS arg_UNPARSED_ARGUMENTS)
    cmake_path(ABSOLUTE_PATH source)
    file(STRINGS ${source} found REGEX "${alone}" LIMIT_COUNT 1)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    if(found OR options)
      list(APPEND sources ${source})
    else()
      list(APPEND members ${source})
    endif()
  endforeach()
  while(members)
    list(SUBLIST members 0 ${count} group)
    list(REMOVE_ITEM members ${group})
    # Their headers first: inside the namespace each is empty, because it has been included before.
    set(headers)
    set(bodies)
    foreach(source IN LISTS group)
      cmake_path(GET source PARENT_PATH folder)
      cmake_path(GET source STEM name)
      file(STRINGS ${source} includes REGEX "^#include")
      list(TRANSFORM includes REPLACE "#include \"" "#include \"${folder}/")
      list(APPEND headers ${includes})
      string(APPEND bodies "namespace ${arg_PREFIX}${name} {\n#include \"${source}\"\n}\n")
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    endforeach()
    list(REMOVE_DUPLICATES headers)
    list(JOIN headers "\n" headers)
    list(GET group 0 source)
    cmake_path(GET source STEM name)
    set(united ${CMAKE_CURRENT_BINARY_DIR}/together/${result}/${arg_PREFIX}${name}.cpp)
    file(CONFIGURE OUTPUT ${united} CONTENT "${headers}\n${bodies}" @ONLY)
    # g++ takes a file that is included for a header, and warns of its anonymous namespace.
    set_source_files_properties(${united} PROPERTIES
                                COMPILE_OPTIONS $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
    list(APPEND sources ${united})
  endwhile()
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

# As one program they take a sixth to two thirds of the time to build. tools/check_includes.py finds an include that one lacks.
set(CORACLE_PROGRAMS_TOGETHER 0 CACHE STRING "How many stress programs, simulations, models or examples are compiled as one; 0: each by itself")

# coracle_callable(RESULT FILE...): copies of these programs, each with a main() that another can call: it takes the arguments, and
# returns 0 at its end, as only a program's own main() does where it does not say so.
function(coracle_callable result)
  set(copies)
  foreach(source IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    cmake_path(GET source FILENAME name)
    file(READ ${source} text)
    string(FIND "${text}" "\nint main(" begin)
    string(SUBSTRING "${text}" 0 ${begin} before)
    string(SUBSTRING "${text}" ${begin} -1 main)
    string(REPLACE "int main()" "int main(int, char**)" main "${main}")
    string(REGEX REPLACE "^([^{]*{[^\n]+) }\n" "\\1 return 0; }\n" main "${main}")
    string(REGEX REPLACE "(\n}( catch[^\n]*)?\n)" "\n  return 0;\\1" main "${main}")
    file(CONFIGURE OUTPUT callable/${name} CONTENT "#line 1 \"${source}\"\n@before@@main@" @ONLY)
    list(APPEND copies ${CMAKE_CURRENT_BINARY_DIR}/callable/${name})
  endforeach()
  set(${result} ${copies} PARENT_SCOPE)
endfunction()

# coracle_unite(ALONE COUNT LABEL FILE...): united_LABEL is one program of programs, COUNT files of which are compiled as one. It
# runs the main() of the one that it is called like: LABEL_NAME, a link. Sets ALONE to the files that must stay programs of their own.
function(coracle_unite alone count label)
  coracle_compile_together(sources ${count} ${ARGN} PREFIX ${label}_)
  set(rest ${sources})
  list(FILTER sources INCLUDE REGEX "/together/")
  list(REMOVE_ITEM rest ${sources})
  set(united ${ARGN})
  list(REMOVE_ITEM united ${rest})
  set(declarations)
  set(calls)
  foreach(source IN LISTS united)
    cmake_path(GET source STEM name)
    set(program ${label}_${name})
    file(CREATE_LINK united_${label} ${CMAKE_CURRENT_BINARY_DIR}/${program} SYMBOLIC)
    string(APPEND declarations "namespace ${program} {\nint main(int argc, char** argv);\n}\n")
    string(APPEND calls "  if (path.ends_with(\"/${program}\")) return ${program}::main(argc, argv);\n")
  endforeach()
  file(CONFIGURE OUTPUT united_${label}.cpp @ONLY CONTENT [[
#include <cstdio>
#include <string_view>

@declarations@
int main(int argc, char** argv) {
  const std::string_view path = argv[0];
@calls@  std::fprintf(stderr, "%s: run it by the path of one of its programs: .../@label@_NAME\n", argv[0]);
  return 2;
}
]])
  add_executable(united_${label} EXCLUDE_FROM_ALL ${sources} ${CMAKE_CURRENT_BINARY_DIR}/united_${label}.cpp)
  set(${alone} ${rest} PARENT_SCOPE)
endfunction()
