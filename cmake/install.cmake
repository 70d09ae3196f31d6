# Everything below the prefix is relative, so that an installed tree can be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/coracle)

set_target_properties(coracle_core PROPERTIES EXPORT_NAME core)
install(TARGETS coracle_core EXPORT coracle-core INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS coracle EXPORT coracle-coracle)
install(DIRECTORY include/coracle DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# One export set a component: `core` alone needs no thread library.
foreach(component IN ITEMS core coracle)
  install(EXPORT coracle-${component} FILE coracle-${component}.cmake NAMESPACE coracle:: DESTINATION ${package_dir})
endforeach()

configure_package_config_file(cmake/coracleConfig.cmake.in coracleConfig.cmake INSTALL_DESTINATION ${package_dir}
                              NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(coracleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/coracleConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/coracleConfigVersion.cmake
        DESTINATION ${package_dir})

file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/coracle.pc.in coracle.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/coracle.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
