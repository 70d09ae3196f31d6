# coracle::module, for `import coracle;`. The unit is compiled by whoever links it, with the flags of that program.
if(CMAKE_VERSION VERSION_LESS 3.28)
  message(FATAL_ERROR "CORACLE_BUILD_MODULE needs CMake 3.28, and this is ${CMAKE_VERSION}")
endif()
# A program that imports it has to agree about GNU's extensions: as CMake does by default, or as -DCMAKE_CXX_EXTENSIONS says.
block()
  unset(CMAKE_CXX_EXTENSIONS)
  add_library(coracle_module STATIC)
endblock()
add_library(coracle::module ALIAS coracle_module)
target_sources(coracle_module PUBLIC FILE_SET CXX_MODULES BASE_DIRS ${PROJECT_SOURCE_DIR}/modules
                                                          FILES ${PROJECT_SOURCE_DIR}/modules/coracle.cppm)
target_link_libraries(coracle_module PUBLIC coracle_io)
set_target_properties(coracle_module PROPERTIES OUTPUT_NAME coracle-module EXPORT_NAME module)
install(TARGETS coracle_module EXPORT coracle-module
        FILE_SET CXX_MODULES DESTINATION ${CMAKE_INSTALL_DATADIR}/coracle/modules)
install(EXPORT coracle-module FILE coracle-module.cmake NAMESPACE coracle:: DESTINATION ${package_dir}
        CXX_MODULES_DIRECTORY modules)
