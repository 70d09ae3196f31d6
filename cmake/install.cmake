# Everything below the prefix is relative, so that an installed tree can be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/coracle)

# The headers named <cppcoro/...> get a folder of their own: a user asks for them or never meets them.
set(cppcoro_dir ${CMAKE_INSTALL_INCLUDEDIR}/coracle-cppcoro)

set_target_properties(coracle_testing PROPERTIES EXPORT_NAME testing)
set_target_properties(coracle_io PROPERTIES EXPORT_NAME io)
set_target_properties(coracle_testing_io PROPERTIES EXPORT_NAME testing_io)
set_target_properties(coracle_cppcoro PROPERTIES EXPORT_NAME cppcoro)
set_target_properties(coracle_model PROPERTIES EXPORT_NAME model)
set_target_properties(coracle_inspect PROPERTIES EXPORT_NAME inspect)
install(TARGETS coracle EXPORT coracle-coracle INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS coracle_testing EXPORT coracle-testing)
install(TARGETS coracle_io EXPORT coracle-io)
install(TARGETS coracle_testing_io EXPORT coracle-testing_io)
install(TARGETS coracle_cppcoro EXPORT coracle-cppcoro INCLUDES DESTINATION ${cppcoro_dir})
install(TARGETS coracle_model EXPORT coracle-model INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS coracle_inspect EXPORT coracle-inspect)
install(DIRECTORY include/coracle DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY compat/cppcoro DESTINATION ${cppcoro_dir})

set(components coracle testing io testing_io cppcoro model inspect)
set(packages coracle coracle-io coracle-cppcoro coracle-testing coracle-testing-io coracle-model coracle-inspect)
if(CORACLE_TLS)
  set_target_properties(coracle_tls PROPERTIES EXPORT_NAME tls)
  install(TARGETS coracle_tls EXPORT coracle-tls)
  list(APPEND components tls)
  list(APPEND packages coracle-tls)
endif()

# One export set a component.
foreach(component IN LISTS components)
  install(EXPORT coracle-${component} FILE coracle-${component}.cmake NAMESPACE coracle:: DESTINATION ${package_dir})
endforeach()

set(lint_folder ${CMAKE_INSTALL_DATADIR}/coracle/lint)
configure_package_config_file(cmake/coracleConfig.cmake.in coracleConfig.cmake INSTALL_DESTINATION ${package_dir}
                              PATH_VARS lint_folder NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(coracleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/coracleConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/coracleConfigVersion.cmake
        DESTINATION ${package_dir})

# The lint: for the command line, and as coracle_lint() for who finds the package.
file(GLOB lint_modules CONFIGURE_DEPENDS tools/coracle_lint/*.py)
install(FILES ${lint_modules} DESTINATION ${lint_folder})
install(FILES cmake/coracle_lint.cmake DESTINATION ${package_dir})
file(RELATIVE_PATH lint_from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_DATADIR}/coracle/lint)
configure_file(cmake/coracle-lint.in coracle-lint @ONLY)
install(PROGRAMS ${CMAKE_CURRENT_BINARY_DIR}/coracle-lint TYPE BIN)
install(FILES tools/coracle_lint/coracle.clang-tidy DESTINATION ${CMAKE_INSTALL_DATADIR}/coracle)
install(FILES tools/coracle_lint/coracle-lint.1 tools/debugger/coracle-ps.1
        DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

# The commands for gdb and lldb, and coracle-ps for the command line.
set(debugger_folder ${CMAKE_INSTALL_DATADIR}/coracle/debugger)
file(RELATIVE_PATH debugger_from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_DATADIR}/coracle/debugger)
configure_file(cmake/coracle-ps.in coracle-ps @ONLY)
install(PROGRAMS ${CMAKE_CURRENT_BINARY_DIR}/coracle-ps TYPE BIN)
install(FILES tools/debugger/coracle_gdb.py tools/debugger/coracle_lldb.py tools/debugger/coracle_ps.py
        DESTINATION ${debugger_folder})
file(GLOB debugger_modules CONFIGURE_DEPENDS tools/debugger/coracle_debugger/*.py)
install(FILES ${debugger_modules} DESTINATION ${debugger_folder}/coracle_debugger)

# A distribution may give these folders as absolute paths.
file(RELATIVE_PATH libdir_from_prefix ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH includedir_from_prefix ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
foreach(package IN LISTS packages)
  configure_file(cmake/${package}.pc.in ${package}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
