# coracle_lint(TARGET): adds the target TARGET_lint, which looks in the sources of TARGET, with the flags that they are
# compiled with, for coroutines that g++ breaks and for those that dangle (docs/lint.md). It fails if it finds any.
function(coracle_lint target)
  get_property(folder GLOBAL PROPERTY CORACLE_LINT_FOLDER)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  get_target_property(sources ${target} SOURCES)
  get_target_property(source_dir ${target} SOURCE_DIR)
  list(FILTER sources INCLUDE REGEX "\\.(cpp|cc|cxx|c\\+\\+|C)$")
  set(files)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${source_dir})
    list(APPEND files ${source})
  endforeach()
  set_target_properties(${target} PROPERTIES EXPORT_COMPILE_COMMANDS ON)
  add_custom_target(${target}_lint
    COMMAND ${Python3_EXECUTABLE} ${folder} -p ${CMAKE_BINARY_DIR} ${files}
    COMMENT "Looking for coroutines that are compiled wrong or dangle in ${target}" VERBATIM)
endfunction()
