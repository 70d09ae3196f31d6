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
    set(united ${CMAKE_CURRENT_BINARY_DIR}/together/${result}/${name}.cpp)
    file(CONFIGURE OUTPUT ${united} CONTENT "${headers}\n${bodies}" @ONLY)
    # g++ takes a file that is included for a header, and warns of its anonymous namespace.
    set_source_files_properties(${united} PROPERTIES
                                COMPILE_OPTIONS $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
    list(APPEND sources ${united})
  endwhile()
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

# coracle_unite(TARGET LABEL FILE... SOURCES source...): one program of programs, whose files coracle_compile_together() has
# put into namespaces of these names. It runs the main() of the one that it is called like: LABEL_NAME, a link.
function(coracle_unite target label)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES")
  set(declarations)
  set(calls)
  foreach(source IN LISTS arg_UNPARSED_ARGUMENTS)
    cmake_path(GET source STEM name)
    set(program ${label}_${name})
    file(CREATE_LINK ${target} ${CMAKE_CURRENT_BINARY_DIR}/${program} SYMBOLIC)
    string(APPEND declarations "namespace ${program} {\nint main(int argc, char** argv);\n}\n")
    string(APPEND calls "  if (path.ends_with(\"/${program}\")) return ${program}::main(argc, argv);\n")
  endforeach()
  file(CONFIGURE OUTPUT ${target}.cpp @ONLY CONTENT [[
#include <cstdio>
#include <string_view>

@declarations@
int main(int argc, char** argv) {
  const std::string_view path = argv[0];
@calls@  std::fprintf(stderr, "%s: run it by the path of one of its programs: .../@label@_NAME\n", argv[0]);
  return 2;
}
]])
  add_executable(${target} EXCLUDE_FROM_ALL ${arg_SOURCES} ${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp)
endfunction()
